// SPDX-License-Identifier: MIT
// What commlab class says on the terminal when a class is graded: how many, whom to look at, and where the files are.

#include "cmd/grade/class.h"

#include <math.h>
#include <stdio.h>

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

// The first few of those with this property, by name: ": ada, bob and 7 more".
static void say_names(const struct class *class, bool (*has)(const struct class_student *s))
{
    enum { MOST_NAMES = 6 };
    int n = 0;
    for (int i = 0; i < class->nstudents; i++)
        if (has(&class->students[i]) && n++ < MOST_NAMES)
            printf("%s%s", n == 1 ? ": " : ", ", class->students[i].id);
    if (n > MOST_NAMES)
        printf(" and %d more", n - MOST_NAMES);
}

static int count_of(const struct class *class, bool (*has)(const struct class_student *s))
{
    int n = 0;
    for (int i = 0; i < class->nstudents; i++)
        n += has(&class->students[i]);
    return n;
}

static bool is_new(const struct class_student *s)
{
    return s->is_new;
}

static bool is_broken(const struct class_student *s)
{
    return s->is_broken;
}

static bool wants_person(const struct class_student *s)
{
    return s->status != CLASS_UNGRADED && isnan(class_total(s));
}

static void say_new_rows(const struct class *class)
{
    if (!count_of(class, is_new))
        return;
    printf("%s/%s.person.csv has a new row", class->folder, class->id);
    say_names(class, is_new);
    printf("\n");
}

// Who can not be compiled, and whose files are the same.
static void say_to_look_at(const struct class *class)
{
    const int n = count_of(class, is_broken);
    if (n) {
        printf("%d submission%s can not be compiled", n, plural(n));
        say_names(class, is_broken);
        printf("\n");
    }
    for (int i = 0; i < class->nstudents; i++) {
        int next = class_has_same_before(class, i) ? -1 : class_next_same(class, i);
        if (next >= 0)
            printf("Equal byte for byte: %s", class->students[i].id);
        for (; next >= 0; next = class_next_same(class, next))
            printf(", %s%s", class->students[next].id, class_next_same(class, next) < 0 ? ": ask who wrote it\n" : "");
    }
}

// How far the person is, and where the sums are.
static void say_sums(const struct class *class)
{
    const int left = count_of(class, wants_person);
    if (left) {
        printf("A person's points are missing for %d student%s", left, plural(left));
        say_names(class, wants_person);
        printf(". Write them into %s/%s.person.csv, and type this again.\n", class->folder, class->id);
    }
    printf("For your gradebook: %s/%s.grades.csv, the sums of 100\n", class->folder, class->id);
}

void class_say(const struct class *class)
{
    int count[3] = {0};
    for (int i = 0; i < class->nstudents; i++)
        count[class->students[i].status]++;
    printf("\n%d student%s: %d graded, %d rejected, %d not graded. Read %s/%s.html\n", class->nstudents,
           plural(class->nstudents), count[CLASS_GRADED], count[CLASS_REJECTED], count[CLASS_UNGRADED], class->folder,
           class->id);
    printf("The table: %s/%s.csv. Each student's tests: %s/%s.results/\n", class->folder, class->id, class->folder,
           class->id);
    printf("Two questions for each: %s/%s.questions.csv. For JPlag: %s/%s.jplag/\n", class->folder, class->id,
           class->folder, class->id);
    say_to_look_at(class);
    say_new_rows(class);
    if (class->salt)
        say_sums(class);
    else
        printf("This is practice: hidden tests are those that students can see. --salt FILE gives the grades.\n");
}
