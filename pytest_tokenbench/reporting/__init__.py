"""From results to text: each module a function from the results document to one kind of output."""
