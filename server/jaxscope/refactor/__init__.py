"""Refactorings: pure functions from a project's syntax trees and a target to a change of its texts, or to a refusal."""
