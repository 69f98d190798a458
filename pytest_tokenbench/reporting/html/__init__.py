"""report.html: the run on one page that needs nothing else. It is imported only when a page is to be rendered."""
