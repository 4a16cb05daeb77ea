# SPDX-License-Identifier: MIT
# What a class gets (slides/instructor/autograder.md).
.PHONY: handout packed gradescope classroom told_gradescope told_classroom

handout_name = commlab-handout-$(shell sed -n 's/^version: *//p' CITATION.cff)
pack = $(if $(filter build,$(B)),LINK='$(link)' LIBRARIES='$(strip $(libraries))',$(error this packs build/: without SAN))
handout: packed ## pack what a student gets, without solutions: build/handout/commlab-handout-VERSION.tar.gz
	@echo "$(B)/handout/$(handout_name).tar.gz"
packed: all
	$(Q)$(pack) pack/handout.sh $(B) $(B)/handout/$(handout_name) $(B)/handout/$(handout_name).tar.gz

HW ?=
SALT ?=
# Said before anything is built or packed, also where make runs two recipes at a time.
told = $(Q)bash -c '. pack/grading_kit.sh && check_homework "$(HW)" $1' make
told_classroom:
	$(call told)
told_gradescope:
	$(call told,&& check_salt "$(SALT)")
gradescope: told_gradescope ## make the autograder of a homework for Gradescope: HW=h2 SALT=FILE; build/gradescope/h2.zip
	$(Q)$(MAKE) packed
	$(Q)pack/gradescope.sh $(B)/handout/$(handout_name) '$(HW)' '$(SALT)' '$(B)/gradescope/$(HW).zip'
	@echo "$(B)/gradescope/$(HW).zip holds the salt: upload it, and give it to nobody"

classroom: told_classroom ## make the starter repository of a homework for GitHub Classroom: HW=h2; build/classroom/h2/
	$(Q)$(MAKE) packed
	$(Q)pack/classroom.sh $(B)/handout/$(handout_name) '$(HW)' '$(B)/classroom/$(HW)'
	@echo "$(B)/classroom/$(HW): push its files to a template repository"
