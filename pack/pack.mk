# SPDX-License-Identifier: MIT
# What a class gets (slides/instructor/autograder.md).
.PHONY: handout

handout_name = commlab-handout-$(shell sed -n 's/^version: *//p' CITATION.cff)
pack = $(if $(filter build,$(B)),LINK='$(link)' LIBRARIES='$(strip $(libraries))',$(error this packs build/: without SAN))
handout: all ## pack what a student gets, without solutions: build/handout/commlab-handout-VERSION.tar.gz
	$(Q)$(pack) pack/handout.sh $(B) $(B)/handout/$(handout_name) $(B)/handout/$(handout_name).tar.gz
	@echo "$(B)/handout/$(handout_name).tar.gz"
