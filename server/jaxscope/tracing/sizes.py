"""Sizes of named dimensions that follow from the arrays a function captures."""
