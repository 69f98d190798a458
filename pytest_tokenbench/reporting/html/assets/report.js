"use strict";
(() => {
  const PAGE = 50;
  const NAMES = { correct: "right", made_up: "made up", over_window: "over the window", construction_failed: "construction failed", not_needed: "not needed" };
  const REMARKS = {
    thinking: "no answer, since the tokens went on thinking", empty: "an empty answer", refusal: "a refusal",
    cut: "cut at its limit",
  };

  const element = (tag, className = "", text = null) => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== null) made.textContent = text;
    return made;
  };
  const told = (value, unit = "") => (value === null ? "not told" : value.toLocaleString("en") + unit);
  const seconds = (value) => (value === null ? "not told" : value.toFixed(value < 10 ? 3 : 1) + " s");

  // Tables: a click on a heading sorts, another one the other way round.
  const sortValue = (cell) => {
    const text = cell.textContent.trim();
    if (text === "never") return Infinity;
    const number = parseFloat(text.replaceAll(",", "").replace("−", "-"));
    return Number.isNaN(number) ? (text === "baseline" ? 0 : null) : number;
  };
  const sortBy = (table, place, direction) => {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => {
      const cell = row.cells[place];
      return { row, value: place ? sortValue(cell) : cell.textContent };
    });
    rows.sort((one, other) => {
      // What has no number comes last either way.
      if (one.value === null || other.value === null) return (one.value === null) - (other.value === null);
      return direction * (one.value < other.value ? -1 : one.value > other.value ? 1 : 0);
    });
    body.append(...rows.map((entry) => entry.row));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, place) => {
      heading.firstElementChild.addEventListener("click", () => {
        const ascending = heading.getAttribute("aria-sort") !== "ascending";
        headings.forEach((one) => one.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
        sortBy(table, place, ascending ? 1 : -1);
      });
    });
  }

  const source = document.getElementById("trial-data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const trials = data.trials.map((row) => Object.fromEntries(data.fields.map((field, place) => [field, row[place]])));
  const byKey = new Map();
  const keyOf = (trial, condition = trial.condition) => {
    const again = trial.repeat ? `-r${trial.repeat + 1}` : "";
    return `${data.conditions[condition]}-${data.questions[trial.question].id}${again}`;
  };
  for (const trial of trials) byKey.set(keyOf(trial), trial);
  // Contexts are most of the page: they are packed, and unpacked when the first trial is opened.
  const unpack = async () => {
    const packed = atob(document.getElementById("context-data").textContent);
    const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
  };
  let unpacked = null;
  const contextOf = (trial, contexts) => {
    if (trial.context === null || contexts === null) return null;
    const entry = contexts.contexts[trial.context];
    return {
      words: entry.words,
      sha256: entry.sha256,
      text: entry.lines && entry.lines.map((place) => contexts.lines[place]).join("\n"),
      units: entry.units.map((place) => contexts.units[place]),
    };
  };

  // Filters stand in the form, and in the URL's fragment, so that a link shows what its sender saw.
  const form = document.querySelector(".filters");
  const list = document.querySelector(".trials");
  const more = document.querySelector(".more");
  const found = document.querySelector(".found");
  const opened = new Set();
  let matching = [];
  let shown = 0;

  const filters = () => Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));
  const fragment = (open) => {
    const wanted = new URLSearchParams(Object.entries(filters()).filter(([, value]) => value));
    if (open) wanted.set("open", open);
    const text = wanted.toString();
    return "#trials" + (text ? "?" + text : "");
  };
  const remember = () => history.replaceState(null, "", fragment([...opened].pop()));

  const hasState = (trial, wanted) => !wanted || (trial && trial.state === wanted);
  const haystack = (trial) => {
    const question = data.questions[trial.question];
    trial.haystack ??= [keyOf(trial), question.text, ...question.answers, ...question.aliases, trial.answer ?? "", trial.error ?? ""]
      .join("\n").toLowerCase();
    return trial.haystack;
  };
  const besideOf = (trial, versus) => {
    const place = data.conditions.indexOf(versus);
    return place < 0 || place === trial.condition ? null : byKey.get(keyOf(trial, place)) ?? null;
  };
  const select = () => {
    const wanted = filters();
    const [kind, ...rest] = (wanted.slice ?? "").split(": ");
    const words = wanted.q.toLowerCase();
    return trials.filter((trial) => {
      const question = data.questions[trial.question];
      if (wanted.condition && data.conditions[trial.condition] !== wanted.condition) return false;
      if (wanted.versus && !wanted.condition && data.conditions[trial.condition] === wanted.versus) return false;
      if (!hasState(trial, wanted.outcome)) return false;
      if (wanted["versus-outcome"] && !hasState(besideOf(trial, wanted.versus), wanted["versus-outcome"])) return false;
      if (wanted.document && question.document !== wanted.document) return false;
      if (kind && question.slices[kind] !== rest.join(": ")) return false;
      return !words || haystack(trial).includes(words);
    });
  };

  const stateName = (trial) => NAMES[trial.state] ?? trial.state;
  const reply = (trial) => trial.answer ?? trial.error ?? "";
  const rowOf = (trial, place) => {
    const question = data.questions[trial.question];
    const versus = filters().versus;
    const beside = besideOf(trial, versus);
    const item = element("li");
    const row = element("button", versus ? "row double" : "row");
    row.type = "button";
    row.setAttribute("aria-expanded", "false");
    row.setAttribute("aria-controls", `trial-${place}`);
    const again = data.repeats > 1 ? ` ×${trial.repeat + 1}` : "";
    row.append(
      element("span", "name", data.conditions[trial.condition] + again),
      element("span", "id", question.id),
      element("span", "text outside", question.text),
      element("span", "reply outside", reply(trial)),
      element("span", `state ${trial.state}`, stateName(trial)),
    );
    if (versus) {
      row.append(
        element("span", "beside outside", beside ? `${versus}: ${reply(beside)}` : `${versus}: none`),
        element("span", `state ${beside ? beside.state : ""}`, beside ? stateName(beside) : ""),
      );
    } else {
      row.append(element("span", "tokens", trial.input_tokens === null ? "" : trial.input_tokens.toLocaleString("en")));
    }
    const detail = element("div", "opened");
    detail.id = `trial-${place}`;
    detail.hidden = true;
    const key = keyOf(trial);
    const toggle = (open) => {
      row.setAttribute("aria-expanded", String(open));
      detail.hidden = !open;
      opened.delete(key);
      if (open) {
        opened.add(key);
        if (!detail.firstChild) fill(detail, trial);
      }
    };
    row.addEventListener("click", () => {
      toggle(detail.hidden);
      remember();
    });
    item.append(row, detail);
    if (opened.has(key)) toggle(true);
    return item;
  };

  const fill = async (detail, trial) => {
    const question = data.questions[trial.question];
    detail.append(element("p", "outside", question.text));
    const golds = [...question.answers, ...question.aliases];
    const gold = question.answerable ? `Gold: ${golds.join(" · ")}` : "Not answerable: the document does not say.";
    detail.append(element("p", "gold outside", gold));
    const its = [...(question.document === question.id ? [] : [`document ${question.document}`]), ...Object.entries(question.slices).map(([kind, value]) => `${kind.replaceAll("_", " ")} ${value}`)];
    if (question.paragraph !== null) its.push(`paragraph ${question.paragraph}`);
    const about = element("p", "gold", its.join(" · ") + " · ");
    const link = element("a", "", "link to this trial");
    link.href = fragment(keyOf(trial));
    about.append(link);
    detail.append(about);
    const sides = element("div", "sides");
    detail.append(sides);
    const shown = [trial, besideOf(trial, filters().versus)].filter((one) => one !== null);
    unpacked ??= unpack().catch(() => null);
    const contexts = await unpacked;
    // Of an alias in two parts, these are too common to lead the eye.
    const marks = [...question.answers.flatMap((gold) => gold.split(" & ")), ...question.aliases.filter((gold) => !gold.includes(" & "))];
    sides.append(...shown.map((one) => sideOf(one, marks, contexts)));
  };

  const sideOf = (trial, marks, contexts) => {
    const side = element("div", "side");
    const heading = element("h4", "", `${data.conditions[trial.condition]} `);
    heading.append(element("span", trial.state, stateName(trial)));
    side.append(heading, element("blockquote", "outside", trial.answer === null ? "(no answer)" : trial.answer));
    let facts = element("dl");
    const fact = (name, value) => facts.append(element("dt", "", name), element("dd", "outside", value));
    const cached = trial.cached_tokens === null ? "cached not told" : `${trial.cached_tokens.toLocaleString("en")} cached`;
    fact("tokens", `${told(trial.input_tokens)} in (${cached}), ${told(trial.output_tokens)} out`);
    fact("time", `prefill ${seconds(trial.prefill_s)}, decode ${seconds(trial.decode_s)}, load ${seconds(trial.load_s)}, total ${seconds(trial.total_s)}`);
    if (trial.f1 !== null) fact("F1", trial.f1.toFixed(2));
    if (trial.remark) fact("remark", REMARKS[trial.remark] ?? trial.remark);
    if (trial.stop !== null) fact("ended by", trial.stop);
    if (trial.error) fact("trouble", trial.error);
    trial.attempts.forEach((attempt) => fact("failed try", attempt));
    const context = contextOf(trial, contexts);
    if (context) {
      fact("context", `${told(context.words)} words`);
      fact("units", context.units.length ? context.units.join(", ") : "none");
    }
    side.append(facts);
    if (contexts === null) {
      side.append(element("p", "absent", "This browser cannot unpack the contexts; a newer one can."));
    } else if (!context) {
      side.append(element("p", "absent", "No context was sent."));
    } else if (context.text === null) {
      side.append(element("p", "absent", "The text of this context is not in the run's folder."));
    } else {
      const box = element("pre", "context outside");
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", `Context sent under ${data.conditions[trial.condition]}`);
      box.append(...marked(context.text, marks));
      side.append(box);
    }
    facts = element("dl", "origin");
    fact("run", `${trial.started}, ${trial.host}, worker ${trial.worker}`);
    if (trial.preparation) fact("preparation", trial.preparation);
    if (trial.nonce !== null) fact("nonce", trial.nonce);
    if (context) fact("context", `SHA-256 ${context.sha256}`);
    if (trial.prompt_sha256) fact("prompt", `SHA-256 ${trial.prompt_sha256}`);
    side.append(facts);
    return side;
  };

  // Gold strings are looked for as they are written, to lead the eye; scoring looks more closely.
  const marked = (text, marks) => {
    const parts = marks.filter((part) => part.length > 1);
    if (!parts.length) return [document.createTextNode(text)];
    const pattern = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).sort((a, b) => b.length - a.length).join("|");
    const pieces = text.split(new RegExp(`(?<![\\p{L}\\p{N}])(${pattern})(?![\\p{L}\\p{N}])`, "iu"));
    return pieces.map((piece, place) => (place % 2 ? element("mark", "", piece) : document.createTextNode(piece)));
  };

  const showMore = () => {
    const next = matching.slice(shown, shown + PAGE);
    list.append(...next.map((trial, place) => rowOf(trial, shown + place)));
    shown += next.length;
    const left = matching.length - shown;
    more.hidden = left <= 0;
    more.textContent = `Show ${Math.min(PAGE, left).toLocaleString("en")} more of ${left.toLocaleString("en")}`;
  };
  const render = () => {
    matching = select();
    list.replaceChildren();
    shown = 0;
    const count = `${matching.length.toLocaleString("en")} of ${trials.length.toLocaleString("en")} trials`;
    found.textContent = matching.length ? count : "No trial fits these filters.";
    showMore();
    // What a link opens is shown, however far down it stands.
    const last = Math.max(-1, ...[...opened].map((key) => matching.indexOf(byKey.get(key))));
    while (shown <= last) showMore();
  };
  const follow = () => {
    const [section, query] = location.hash.split("?");
    if (section !== "#trials") return false;
    const wanted = new URLSearchParams(query ?? "");
    for (const control of form.elements) {
      if (!control.name) continue;
      control.value = wanted.get(control.name) ?? "";
      if (control.selectedIndex === -1) control.value = "";
    }
    opened.clear();
    if (wanted.has("open")) opened.add(wanted.get("open"));
    render();
    const first = list.querySelector(".row[aria-expanded=true]");
    (first ?? document.getElementById("trials")).scrollIntoView();
    if (first) first.focus({ preventScroll: true });
    return true;
  };

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    remember();
    render();
  });
  form.addEventListener("reset", () => {
    opened.clear();
    setTimeout(() => {
      remember();
      render();
    });
  });
  more.addEventListener("click", () => {
    const before = list.children.length;
    showMore();
    list.children[before]?.firstElementChild.focus();
  });
  window.addEventListener("hashchange", follow);
  document.addEventListener("click", (event) => {
    // A link to where the page is already changes nothing, and the browser tells nobody.
    const link = event.target.closest('a[href^="#trials?"]');
    if (link && link.getAttribute("href") === location.hash) follow();
  });
  if (!follow()) render();
})();
