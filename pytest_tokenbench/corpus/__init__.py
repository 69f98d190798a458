"""The pre-registered material: documents, questions and their checksums. Reading, checking, hashing."""
