"""The rules, one file each. They are found by looking into this folder: nobody imports a rule by name."""
