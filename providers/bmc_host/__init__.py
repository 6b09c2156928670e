"""`BmcHost`: one server behind its BMC, pinned by the operator's consent."""
