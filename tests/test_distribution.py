"""What workers are handed: every item once, groups whole, in cold order no document twice in a row, balanced."""

import heapq
from collections import Counter
from dataclasses import replace
from itertools import groupby, pairwise
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdist.remote import Producer
from xdist.scheduler import LoadScheduling

from pytest_tokenbench.distribution import TrialScheduling
from pytest_tokenbench.handout import ColdPool, SharedPool, Work

quick = settings(max_examples=50, deadline=None)


def works(counts, seed=0, plain=0):
    """So many trials on each of the documents d0, d1, ..., in groups of up to four, and some ordinary tests."""
    rng = Random(seed)
    made = [
        Work(rng.randrange(1, 1000), f"d{document}", ("made", f"d{document}", str(place // 4)))
        for document, count in enumerate(counts)
        for place in range(count)
    ]
    return made + [Work() for _ in range(plain)]


class Simulation:
    """Workers that run what a pool hands them, as pytest-xdist's do: one begins an item when it knows the next.

    An item takes as long as it has tokens, times a random factor unless `exact`. Now and then a worker dies at an item
    and another takes its place, until `crashes` have. `begun` tells when each item was begun, on which host, by whom.
    """

    def __init__(self, pool, made, hosts, *, seed=0, crashes=0, exact=False):
        self.pool, self.made, self.crashes, self.exact = pool, made, crashes, exact
        self.rng = Random(seed)
        self.now = 0.0
        self.hosts = dict(enumerate(hosts))
        self.queues = {}
        self.ended, self.busy = set(), set()
        self.begun, self.ran, self.crashed = [], [], []
        self.order = {}  # by worker, what it was handed
        self.choices = {}  # by item, how many documents had trials left when it was last handed out
        self.waiting = Counter(work.document for work in made if work.document)
        self.events = []
        for worker in self.hosts:
            self.join(worker)
        for worker in self.hosts:
            self.fill(worker, 1)
        for worker in self.hosts:
            self.fill(worker)
        while self.events:
            self.now, _, worker = heapq.heappop(self.events)
            self.end(worker)

    def join(self, worker):
        self.queues[worker], self.order[worker] = [], []
        self.pool.add(str(worker), self.hosts[worker])

    def fill(self, worker, ahead=None):
        if worker in self.ended:
            return
        while len(self.queues[worker]) < (ahead or self.pool.ahead):
            item = self.pool.next(str(worker))
            if item is None:
                self.ended.add(worker)
                break
            self.choices[item] = sum(count > 0 for count in self.waiting.values())
            if self.made[item].document:
                self.waiting[self.made[item].document] -= 1
            self.queues[worker].append(item)
            self.order[worker].append(item)
        self.begin(worker)

    def begin(self, worker):
        queue = self.queues[worker]
        if queue and worker not in self.busy and (len(queue) > 1 or worker in self.ended):
            self.busy.add(worker)
            # A message to a worker takes a while, as does all else.
            late = 0.0 if self.exact else self.rng.random()
            self.begun.append((self.now + late, self.hosts[worker], worker, queue[0]))
            takes = self.made[queue[0]].tokens * (1 if self.exact else self.rng.uniform(0.2, 3))
            heapq.heappush(self.events, (self.now + late + takes, self.rng.random(), worker))

    def end(self, worker):
        self.busy.discard(worker)
        if self.crashes and self.rng.random() < 0.1:
            self.crash(worker)
            return
        item = self.queues[worker].pop(0)
        self.ran.append(item)
        self.pool.finished(str(worker), item)
        self.fill(worker)
        self.begin(worker)

    def crash(self, worker):
        self.crashes -= 1
        queue = self.queues.pop(worker)
        assert self.pool.remove(str(worker)) == queue[0]
        self.crashed.append(queue[0])
        self.waiting.update(self.made[item].document for item in queue[1:] if self.made[item].document)
        for other in self.queues:
            self.fill(other)
        new = len(self.hosts)
        self.hosts[new] = self.hosts[worker]
        self.join(new)
        self.fill(new)

    def consecutive(self):
        """Pairs of trials that one host got one after the other."""
        for host in set(self.hosts.values()):
            trials = [
                item for _, where, _, item in sorted(self.begun) if where == host and self.made[item].document
            ]
            yield from ((host, *pair) for pair in pairwise(trials))


counts = st.lists(st.integers(1, 12), min_size=1, max_size=14)
hosts = st.lists(st.integers(0, 2), min_size=1, max_size=6)
seeds = st.integers(0, 1 << 30)


@pytest.mark.parametrize("kind", [ColdPool, SharedPool])
@quick
@given(st.tuples(counts, st.integers(0, 9)), hosts, seeds, st.integers(0, 5))
def test_every_item_runs_once_or_was_run_when_its_worker_died(kind, items, where, seed, crashes):
    made = works(items[0], seed, plain=items[1])
    pool = kind(made)
    seen = Simulation(pool, made, where, seed=seed, crashes=crashes)
    assert sorted(seen.ran + seen.crashed) == list(range(len(made)))
    assert pool.left == 0


@pytest.mark.parametrize("kind", [ColdPool, SharedPool])
@quick
@given(counts, hosts, seeds, st.integers(0, 3))
def test_a_worker_is_handed_no_item_of_an_earlier_stage_after_one_of_a_later(
    kind, sizes, where, seed, stages
):
    rng = Random(seed)
    made = [replace(work, stage=rng.randint(0, stages)) for work in works(sizes, seed)]
    made = [replace(work, group=(*work.group, str(work.stage))) for work in made]
    seen = Simulation(kind(made), made, where, seed=seed)
    for handed in seen.order.values():
        at = [made[item].stage for item in handed]
        assert at == sorted(at)


class TestShared:
    @quick
    @given(counts, st.integers(0, 9), hosts, seeds)
    def test_a_group_is_run_by_one_worker_in_one_go_in_its_order(self, sizes, plain, where, seed):
        made = works(sizes, seed, plain)
        seen = Simulation(SharedPool(made), made, where, seed=seed)
        runs = [
            list(run)
            for handed in seen.order.values()
            for group, run in groupby(handed, lambda item: made[item].group)
            if group
        ]
        assert len(runs) == len({work.group for work in made if work.group})
        assert all(run == sorted(run) for run in runs)

    @quick
    @given(counts, hosts, seeds, st.integers(1, 5))
    def test_only_a_crash_takes_a_group_to_a_second_worker(self, sizes, where, seed, crashes):
        made = works(sizes, seed)
        seen = Simulation(SharedPool(made), made, where, seed=seed, crashes=crashes)
        at = {}
        for _, _, worker, item in seen.begun:
            at.setdefault(made[item].group, set()).add(worker)
        crashed = Counter(made[item].group for item in seen.crashed)
        assert all(len(workers) <= 1 + crashed[group] for group, workers in at.items())

    @quick
    @given(counts, st.integers(1, 8), seeds)
    def test_the_last_worker_is_done_within_the_mean_and_one_group_and_one_item(self, sizes, count, seed):
        made = works(sizes, seed)
        seen = Simulation(SharedPool(made), made, [0] * count, seed=seed, exact=True)
        groups = Counter()
        for work in made:
            groups[work.group] += work.tokens
        bound = groups.total() / count + max(groups.values()) + max(work.tokens for work in made)
        assert seen.now <= bound

    @quick
    @given(counts, seeds)
    def test_the_costliest_group_comes_first(self, sizes, seed):
        made = works(sizes, seed)
        seen = Simulation(SharedPool(made), made, [0], seed=seed)
        groups = Counter()
        for work in made:
            groups[work.group] += work.tokens
        costs = [groups[made[item].group] for item in seen.ran]
        assert costs == sorted(costs, reverse=True)

    def test_what_a_dead_worker_leaves_of_the_costliest_group_comes_before_the_others(self):
        made = [Work(10, "a", ("a",))] * 4 + [Work(15, "b", ("b",))] * 2 + [Work(1, "c", ("c",))]
        pool = SharedPool(made)
        pool.add("one")
        assert [pool.next("one") for _ in range(2)] == [0, 1]
        pool.finished("one", 0)
        assert pool.next("one") == 2
        assert pool.remove("one") == 1
        pool.add("two")
        assert [pool.next("two") for _ in range(6)] == [2, 3, 4, 5, 6, None]


class TestCold:
    @quick
    @given(counts, hosts, seeds, st.integers(0, 5))
    def test_with_enough_documents_left_none_follows_itself_on_a_host(self, sizes, where, seed, crashes):
        made = works(sizes, seed)
        seen = Simulation(ColdPool(made), made, where, seed=seed, crashes=crashes)
        for host, before, after in seen.consecutive():
            # The one that was handed out later was chosen in view of the other, whichever of them began first.
            if min(seen.choices[before], seen.choices[after]) >= 3 * where.count(host) - 1:
                assert made[before].document != made[after].document

    @pytest.mark.parametrize("workers", [1, 2, 3])
    def test_ten_documents_are_enough_nearly_to_the_end(self, workers):
        made = works((70,) * 10)
        seen = Simulation(ColdPool(made), made, [0] * workers)
        few = sum(seen.choices[item] < 3 * workers - 1 for item in range(700))
        assert few <= 3 * workers

    @quick
    @given(counts, seeds)
    def test_one_worker_repeats_a_document_only_where_it_has_more_than_half_of_the_trials(self, sizes, seed):
        made = works(sizes, seed)
        seen = Simulation(ColdPool(made), made, [0], seed=seed)
        repeats = sum(made[one].document == made[other].document for one, other in pairwise(seen.ran))
        assert repeats == max(0, 2 * max(sizes) - sum(sizes) - 1)

    @quick
    @given(counts, st.integers(1, 8), seeds)
    def test_the_last_worker_is_done_within_the_mean_and_two_trials(self, sizes, count, seed):
        made = works(sizes, seed)
        seen = Simulation(ColdPool(made), made, [0] * count, seed=seed, exact=True)
        longest = max(work.tokens for work in made)
        assert seen.now <= sum(work.tokens for work in made) / count + 2 * longest

    @quick
    @given(counts, hosts, seeds)
    def test_of_a_document_the_costliest_trial_comes_first(self, sizes, where, seed):
        made = works(sizes, seed)
        pool = ColdPool(made)
        for worker, host in enumerate(where):
            pool.add(str(worker), host)
        turn, handed = Random(seed), []
        while (item := pool.next(str(turn.randrange(len(where))))) is not None:
            handed.append(item)
        for document in {work.document for work in made}:
            costs = [made[item].tokens for item in handed if made[item].document == document]
            assert costs == sorted(costs, reverse=True)

    def test_hosts_do_not_disturb_each_other(self):
        made = [Work(9, "a")] * 2 + [Work(1, "b")]
        pool = ColdPool(made)
        pool.add("one", 0)
        pool.add("two", 1)
        assert [made[pool.next(worker)].document for worker in ("one", "two")] == ["a", "a"]

    def test_a_worker_that_moved_counts_on_its_new_host(self):
        made = [Work(9, "a")] * 3 + [Work(1, "b")]
        pool = ColdPool(made)
        pool.add("one", 0)
        pool.add("two", 1)
        pool.next("one")
        pool.moved("one", 1)
        assert made[pool.next("two")].document == "b"

    def test_a_host_still_holds_the_document_of_a_worker_that_left(self):
        made = [Work(9, "a")] * 3 + [Work(1, "b")]
        pool = ColdPool(made)
        pool.add("one", 0)
        pool.add("two", 0)
        pool.finished("one", pool.next("one"))
        pool.remove("one")
        assert made[pool.next("two")].document == "b"

    def test_with_no_document_free_a_worker_rather_takes_that_of_another_than_its_own(self):
        made = [Work(9, "a")] * 3 + [Work(9, "b")] * 3
        pool = ColdPool(made)
        pool.add("one")
        pool.add("two")
        first = made[pool.next("one")].document
        other = made[pool.next("two")].document
        assert {first, other} == {"a", "b"}
        assert made[pool.next("one")].document == other

    def test_trials_that_are_done_come_first_and_rule_out_nothing(self):
        made = [Work(9, "a"), Work(0, None, ("a",)), Work(9, "b"), Work()]
        pool = ColdPool(made)
        pool.add("one")
        assert [pool.next("one") for _ in range(4)] == [1, 3, 0, 2]


class Node:
    """A worker as xdist's controller sees it; `sent` is what it was told to run."""

    def __init__(self, name, **told):
        self.gateway = SimpleNamespace(id=name)
        self.workerinput = told
        self.sent = []
        self.shutting_down = False

    def send_runtest_some(self, indices):
        assert not self.shutting_down
        self.sent.extend(indices)

    def shutdown(self):
        self.shutting_down = True


class Session:
    """A controller of xdist's with so many workers, all of which have collected `count` items, `odd` one more."""

    def __init__(self, pool_of, workers=2, count=6, odd=None):
        self.reports = []
        self.asked = []
        option = {"tx": ["popen"] * workers, "maxschedchunk": None}
        config = SimpleNamespace(
            getoption=option.get,
            getvalue=option.get,
            hook=SimpleNamespace(pytest_collectreport=self.record),
        )
        self.ids = [f"test_made.py::test_made[{place}]" for place in range(count)]

        def asked(ids):
            self.asked.append(list(ids))
            return pool_of()

        self.sched = TrialScheduling(config, Producer("none", enabled=False), asked)
        self.nodes = [
            self.join(
                f"gw{place}", ids=[*self.ids, "test_odd"] if place == odd else None, tokenbench_host=place
            )
            for place in range(workers)
        ]

    def record(self, report):
        assert report.failed
        self.reports.append(report.longrepr)

    def join(self, name, ids=None, **told):
        node = Node(name, **told)
        self.sched.add_node(node)
        self.sched.add_node_collection(node, self.ids if ids is None else ids)
        if self.sched.collection_is_completed:
            self.sched.schedule()
        return node

    def run(self):
        """Has the workers end what they were sent, as far as they begin it; returns what ended."""
        ended = []
        while ready := [
            node
            for node in self.sched.nodes
            if (pending := self.sched.node2pending[node]) and (len(pending) > 1 or node.shutting_down)
        ]:
            for node in ready:
                ended.append(self.sched.node2pending[node][0])
                self.sched.mark_test_complete(node, ended[-1])
        return ended


def cold(count=6, documents=3):
    return ColdPool([Work(1, f"d{place % documents}") for place in range(count)])


class TestScheduling:
    def test_a_session_without_a_study_is_scheduled_by_xdist_itself(self):
        session = Session(lambda: None)
        assert type(session.sched) is LoadScheduling
        assert session.asked == [session.ids]
        assert sorted(session.run()) == list(range(6))
        assert session.sched.tests_finished

    def test_items_run_to_the_last_and_workers_are_told_the_end(self):
        session = Session(cold)
        assert not session.sched.tests_finished
        assert session.sched.has_pending
        assert sorted(session.run()) == list(range(6))
        assert session.sched.tests_finished
        assert not session.sched.has_pending
        assert all(node.shutting_down for node in session.nodes)
        assert session.asked == [session.ids]

    def test_each_worker_has_one_item_before_any_has_two(self):
        session = Session(lambda: cold(count=2), count=2)
        assert sorted(node.sent for node in session.nodes) == [[0], [1]]

    def test_more_workers_than_items_leave_some_without(self):
        session = Session(lambda: cold(count=1), count=1)
        assert session.run() == [0]
        assert session.sched.tests_finished
        assert [node.shutting_down for node in session.nodes] == [True, True]

    def test_workers_have_their_hosts(self):
        pool = ColdPool([Work(9, "a")] * 2 + [Work(1, "b")] * 4)
        session = Session(lambda: pool)
        assert [node.sent[0] for node in session.nodes] == [2, 3]  # most left, on both hosts

    def test_a_dead_worker_gives_back_all_but_the_item_it_was_at(self):
        session = Session(cold)
        dead, left = session.nodes
        assert session.sched.remove_node(dead) == session.ids[dead.sent[0]]
        ran = session.run()
        assert sorted([*ran, dead.sent[0]]) == list(range(6))
        assert session.sched.remove_node(left) is None

    def test_what_the_last_worker_leaves_goes_to_the_one_that_takes_its_place(self):
        session = Session(cold, workers=1)
        crashed = session.sched.remove_node(session.nodes[0])
        assert not session.sched.tests_finished
        session.join("gw1")
        assert sorted([*session.run(), session.ids.index(crashed)]) == list(range(6))

    def test_another_plugin_can_have_a_crashed_item_run_again(self):
        session = Session(cold)
        session.sched.mark_test_pending(session.sched.remove_node(session.nodes[0]))
        assert sorted(session.run()) == list(range(6))

    def test_a_late_worker_that_collected_something_else_is_told_and_given_nothing(self):
        session = Session(cold)
        late = session.join("gw9", ids=["test_made.py::test_other"])
        assert late.shutting_down
        assert late.sent == []
        assert "Different tests were collected between gw0 and gw9" in session.reports[0]
        assert session.sched.remove_node(late) is None
        assert sorted(session.run()) == list(range(6))

    def test_workers_that_collected_different_items_from_the_start_run_none(self):
        session = Session(cold, odd=1)
        assert "Different tests were collected between gw0 and gw1" in session.reports[0]
        assert [node.sent for node in session.nodes] == [[], []]
        assert session.sched.tests_finished  # so that xdist ends the session

    def test_a_worker_that_moved_counts_on_its_new_host(self):
        made = [Work(9, "a")] * 4 + [Work(5, "b")] * 2 + [Work(1, "c")]
        session = Session(lambda: ColdPool(made), count=7)
        one, other = session.nodes
        assert [[made[item].document for item in node.sent] for node in (one, other)] == [["a", "b"]] * 2
        session.sched.moved("gw1", 0)
        session.sched.mark_test_complete(one, one.sent[0])
        assert made[one.sent[-1]].document == "c"
