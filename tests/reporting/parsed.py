"""A page as a browser would cut it, for tests of what stands on it."""

from html.parser import HTMLParser


class Parsed(HTMLParser):
    """Its elements with their attributes, its scripts, and its texts, which are in no script or style."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.scripts, self.texts, self._open = [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self._open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data):
        if self._open[-1:] == ["script"]:
            self.scripts[-1] += data
        elif self._open[-1:] != ["style"]:
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    def all(self, tag):
        return [its for name, its in self.elements if name == tag]
