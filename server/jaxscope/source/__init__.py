"""Python source: parsing that survives broken text, files and their encodings, suppression comments."""
