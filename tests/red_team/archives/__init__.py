"""Archives and trees of hostile make, which git cannot hold or nobody wants in a repository.

Each function puts one submission at a path and returns it. The path given beside it is that of a
canary, a file that lies outside and must not get in.
"""

from collections.abc import Callable
from pathlib import Path

from red_team.archives import tars, trees, zips, zips_read_two_ways

Builder = Callable[[Path, Path], Path]

READ_TWO_WAYS: tuple[Builder, ...] = (
    tars.tar_before_a_zip,
    tars.tar_whose_last_file_is_a_zip_to_its_end,
    tars.tar_that_ends_with_a_zip,
    tars.tar_packed_before_a_zip,
    zips_read_two_ways.zip_that_holds_a_tar_before_its_list,
    zips_read_two_ways.zip_that_begins_as_an_old_tar,
    zips_read_two_ways.zip_with_two_ends,
    zips_read_two_ways.zip_with_an_end_in_its_comment,
    zips_read_two_ways.zip_whose_comment_breaks_off,
    zips_read_two_ways.zip_with_more_files_than_it_says,
    zips_read_two_ways.zip_with_two_lists_by_two_ends,
    zips_read_two_ways.zip_with_a_file_behind_a_packed_content,
    zips_read_two_ways.zip_with_a_unicode_path_that_leads_out,
    tars.gzip_with_bytes_after_it,
)
"""Other programs show other files of these: what is graded is what the grader shows."""
BUILDERS: tuple[Builder, ...] = (
    zips.zip_that_leads_out,
    zips.zip_with_links,
    zips.zip_with_twins,
    zips.zip_that_is_a_bomb,
    zips.zip_with_overlaps,
    zips.zip_that_lies_about_sizes,
    zips.zip_of_many_files,
    zips.zip_in_zip_in_zip,
    zips.zip_with_odd_names,
    trees.notebook_that_writes_elsewhere,
    tars.tar_with_links,
    tars.tar_that_leads_out,
    tars.tar_with_devices,
    tars.tar_that_is_sparse,
    tars.tar_with_huge_headers,
    tars.tar_packed_ten_thousandfold,
    trees.tree_with_links,
    trees.tree_with_pipes,
    trees.tree_of_many_files,
    trees.tree_with_odd_names,
    tars.gzip_of_many_members,
    zips.zip_with_links_of_darwin,
    zips.zip_with_links_to_a_canary_of_darwin,
    zips.zip_with_devices_of_darwin,
    *READ_TWO_WAYS,
)
