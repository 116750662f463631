"""Every function that a trace may name, in exactly one class: what rules go by.

MPI's are named without their prefix, torch.distributed's as there; no name is in both. The latter
have one name whether they block or not, which their record tells.
"""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


BLOCKING_SENDS = _names("Send Ssend Rsend Bsend send")
BLOCKING_RECEIVES = _names("Recv Mrecv Probe Mprobe recv")
BLOCKING_EXCHANGES = _names("Sendrecv Sendrecv_replace")
BLOCKING_POINT_TO_POINT = BLOCKING_SENDS | BLOCKING_RECEIVES | BLOCKING_EXCHANGES

PARTITIONED = _names("Psend_init Precv_init Pready Pready_list Pready_range Parrived")
TORCH_POINT_TO_POINT = _names("send recv isend irecv")
NONBLOCKING_POINT_TO_POINT = PARTITIONED | _names("""
    Isend Issend Irsend Ibsend Irecv Imrecv Iprobe Improbe Isendrecv Isendrecv_replace
    Send_init Ssend_init Rsend_init Bsend_init Recv_init Start Startall
    isend irecv
""")

WAITS_FOR_ALL = _names("Wait Waitall wait")
WAITS_FOR_ANY = _names("Waitany Waitsome")
TESTS_FOR_ALL = _names("Test Testall Request_get_status is_completed")
TESTS_FOR_ANY = _names("Testany Testsome")
COMPLETION = (
    WAITS_FOR_ALL
    | WAITS_FOR_ANY
    | TESTS_FOR_ALL
    | TESTS_FOR_ANY
    | _names("Request_free Cancel Test_cancelled")
)

BLOCKING_COLLECTIVES = _names("""
    Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv
    Alltoall Alltoallv Alltoallw Reduce Allreduce Reduce_scatter Reduce_scatter_block Scan Exscan
    Neighbor_allgather Neighbor_allgatherv
    Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw
""")
NONBLOCKING_COLLECTIVES = frozenset(
    [f"I{name.lower()}" for name in BLOCKING_COLLECTIVES]
    + [f"{name}_init" for name in BLOCKING_COLLECTIVES]
)
TORCH_BARRIERS = _names("barrier monitored_barrier")
TORCH_COLLECTIVES = TORCH_BARRIERS | _names("""
    broadcast gather scatter reduce all_gather all_reduce reduce_scatter all_to_all
    all_gather_into_tensor reduce_scatter_tensor all_to_all_single
    all_reduce_coalesced all_gather_coalesced
    all_gather_into_tensor_coalesced reduce_scatter_tensor_coalesced
""")
_GLOO_OPERATIONS = (
    # The beginning of a name says which it is, the first that fits.
    *(("send", "message"), ("isend", "message"), ("reduce_scatter", "all_reduce")),
    *((name, name) for name in ("all_reduce", "all_gather", "all_to_all", "reduce")),
    *((name, name) for name in ("gather", "scatter", "broadcast")),
)
COLLECTIVES = BLOCKING_COLLECTIVES | NONBLOCKING_COLLECTIVES | TORCH_COLLECTIVES

_ONE_PIECE_GIVEN = _names("Bcast Gather Gatherv Allgather Allgatherv Reduce Allreduce Scan Exscan")
ALTERABLE_COLLECTIVES = _ONE_PIECE_GIVEN | {f"I{name.lower()}" for name in _ONE_PIECE_GIVEN}
"""To which a rank gives one piece, the same to all: what fault injection can change."""

ROOTED_COLLECTIVES = _names("""
    Bcast Gather Gatherv Scatter Scatterv Reduce Ibcast Igather Igatherv Iscatter Iscatterv Ireduce
    broadcast gather scatter reduce
""")

COMMUNICATORS_BY_ALL = _names("""
    Comm_dup Comm_dup_with_info Comm_idup Comm_idup_with_info Comm_create Comm_split Comm_split_type
    Cart_create Cart_sub Graph_create Dist_graph_create Dist_graph_create_adjacent Intercomm_merge
""")
"""Collective over the communicator they are called on, and no rank leaves before all have come."""

COMMUNICATORS_OTHERWISE = _names("""
    Comm_free Comm_disconnect Comm_create_group Comm_create_from_group
    Intercomm_create Intercomm_create_from_groups
""")

COMMUNICATORS_WITH_DATA = _names("Dist_graph_create")
"""Give to other ranks what each says of them: the weights of its edges."""

COMMUNICATORS_BY_CHOICE = _names("""
    Comm_create Comm_split Comm_split_type Cart_create Cart_sub Graph_create
    Dist_graph_create_adjacent Intercomm_merge Comm_create_group Comm_create_from_group
    Intercomm_create Intercomm_create_from_groups
""")
"""Each tells the others little, by who is in the new one in which order; many of them tell much."""

AGREEMENTS = _names("Comm_agree Comm_iagree Comm_shrink Comm_revoke")
"""For programs that outlive a failure of a rank; what the ranks agree on is a number."""

ONE_SIDED = _names("""
    Put Get Accumulate Get_accumulate Fetch_and_op Compare_and_swap
    Rput Rget Raccumulate Rget_accumulate
    Win_allocate Win_allocate_shared Win_attach Win_c2f Win_call_errhandler Win_complete Win_create
    Win_create_dynamic Win_create_errhandler Win_create_keyval Win_delete_attr Win_detach Win_f2c
    Win_fence Win_flush Win_flush_all Win_flush_local Win_flush_local_all Win_free Win_free_keyval
    Win_get_attr Win_get_errhandler Win_get_group Win_get_info Win_get_name Win_lock Win_lock_all
    Win_post Win_set_attr Win_set_errhandler Win_set_info Win_set_name Win_shared_query Win_start
    Win_sync Win_test Win_unlock Win_unlock_all Win_wait
""")

FILES = _names("""
    File_c2f File_call_errhandler File_close File_create_errhandler File_delete File_f2c
    File_get_amode File_get_atomicity File_get_byte_offset File_get_errhandler File_get_group
    File_get_info File_get_position File_get_position_shared File_get_size File_get_type_extent
    File_get_view File_iread File_iread_all File_iread_at File_iread_at_all File_iread_shared
    File_iwrite File_iwrite_all File_iwrite_at File_iwrite_at_all File_iwrite_shared File_open
    File_preallocate File_read File_read_all File_read_all_begin File_read_all_end File_read_at
    File_read_at_all File_read_at_all_begin File_read_at_all_end File_read_ordered
    File_read_ordered_begin File_read_ordered_end File_read_shared File_seek File_seek_shared
    File_set_atomicity File_set_errhandler File_set_info File_set_size File_set_view File_sync
    File_write File_write_all File_write_all_begin File_write_all_end File_write_at
    File_write_at_all File_write_at_all_begin File_write_at_all_end File_write_ordered
    File_write_ordered_begin File_write_ordered_end File_write_shared Register_datarep
""")

PROCESSES = _names("""
    Comm_spawn Comm_spawn_multiple Comm_accept Comm_connect Comm_join
    Open_port Close_port Publish_name Unpublish_name Lookup_name
""")

TOOLS = _names("""
    T_category_changed T_category_get_categories T_category_get_cvars T_category_get_index
    T_category_get_info T_category_get_num T_category_get_pvars T_cvar_get_index T_cvar_get_info
    T_cvar_get_num T_cvar_handle_alloc T_cvar_handle_free T_cvar_read T_cvar_write T_enum_get_info
    T_enum_get_item T_finalize T_init_thread T_pvar_get_index T_pvar_get_info T_pvar_get_num
    T_pvar_handle_alloc T_pvar_handle_free T_pvar_read T_pvar_readreset T_pvar_reset
    T_pvar_session_create T_pvar_session_free T_pvar_start T_pvar_stop T_pvar_write
""")

ENVIRONMENT = _names("""
    Init Init_thread Initialized Finalize Finalized Abort Pcontrol Query_thread Is_thread_main
    Get_library_version Get_processor_name Get_version Wtick Wtime Alloc_mem Free_mem
    Session_c2f Session_call_errhandler Session_create_errhandler Session_f2c Session_finalize
    Session_get_errhandler Session_get_info Session_get_nth_pset Session_get_num_psets
    Session_get_pset_info Session_init Session_set_errhandler Session_set_info
""")

QUERIES_AND_HANDLES = _names("""
    Comm_c2f Comm_call_errhandler Comm_compare Comm_create_errhandler Comm_create_keyval
    Comm_delete_attr Comm_f2c Comm_free_keyval Comm_get_attr Comm_get_errhandler Comm_get_info
    Comm_get_name Comm_get_parent Comm_group Comm_rank Comm_remote_group Comm_remote_size
    Comm_set_attr Comm_set_errhandler Comm_set_info Comm_set_name Comm_size Comm_test_inter
    Comm_ack_failed Comm_failure_ack Comm_failure_get_acked Comm_get_failed Comm_is_revoked
    Attr_delete Attr_get Attr_put Keyval_create Keyval_free
    Cart_coords Cart_get Cart_map Cart_rank Cart_shift Cartdim_get Dims_create
    Dist_graph_neighbors Dist_graph_neighbors_count Graph_get Graph_map Graph_neighbors
    Graph_neighbors_count Graphdims_get Topo_test
    Group_c2f Group_compare Group_difference Group_excl Group_f2c Group_free Group_from_session_pset
    Group_incl Group_intersection Group_range_excl Group_range_incl Group_rank Group_size
    Group_translate_ranks Group_union
    Info_c2f Info_create Info_create_env Info_delete Info_dup Info_f2c Info_free Info_get
    Info_get_nkeys Info_get_nthkey Info_get_string Info_get_valuelen Info_set
    Add_error_class Add_error_code Add_error_string Errhandler_c2f Errhandler_create Errhandler_f2c
    Errhandler_free Errhandler_get Errhandler_set Error_class Error_string
    Grequest_complete Grequest_start Request_c2f Request_f2c Message_c2f Message_f2c
    Status_c2f Status_c2f08 Status_f082c Status_f082f Status_f2c Status_f2f08
    Status_set_cancelled Status_set_elements Status_set_elements_x
    Get_count Get_elements Get_elements_x
""")

DATATYPES_AND_OPS = _names("""
    Address Get_address Buffer_attach Buffer_detach Pack Pack_external Pack_external_size Pack_size
    Unpack Unpack_external Op_c2f Op_commutative Op_create Op_f2c Op_free Reduce_local
    Type_c2f Type_commit Type_contiguous Type_create_darray Type_create_f90_complex
    Type_create_f90_integer Type_create_f90_real Type_create_hindexed Type_create_hindexed_block
    Type_create_hvector Type_create_indexed_block Type_create_keyval Type_create_resized
    Type_create_struct Type_create_subarray Type_delete_attr Type_dup Type_extent Type_f2c Type_free
    Type_free_keyval Type_get_attr Type_get_contents Type_get_envelope Type_get_extent
    Type_get_extent_x Type_get_name Type_get_true_extent Type_get_true_extent_x Type_hindexed
    Type_hvector Type_indexed Type_lb Type_match_size Type_set_attr Type_set_name Type_size
    Type_size_x Type_struct Type_ub Type_vector
""")

NEUTRAL = (
    (COMMUNICATORS_BY_ALL - COMMUNICATORS_WITH_DATA)
    | COMMUNICATORS_OTHERWISE
    | ENVIRONMENT
    | QUERIES_AND_HANDLES
    | DATATYPES_AND_OPS
)
"""Carries no data of the student's from rank to rank: allowed by every rule."""

BY_OTHER_THAN_MESSAGES = (
    (BLOCKING_COLLECTIVES | NONBLOCKING_COLLECTIVES) - _names("Barrier Ibarrier Barrier_init")
    | COMMUNICATORS_WITH_DATA
    | AGREEMENTS
    | ONE_SIDED
    | FILES
)
"""Functions of MPI that carry data from rank to rank, and send no message for it."""

CLASSES = (
    BLOCKING_POINT_TO_POINT,
    NONBLOCKING_POINT_TO_POINT,
    COMPLETION,
    BLOCKING_COLLECTIVES,
    NONBLOCKING_COLLECTIVES,
    TORCH_COLLECTIVES,
    COMMUNICATORS_BY_ALL,
    COMMUNICATORS_OTHERWISE,
    AGREEMENTS,
    ONE_SIDED,
    FILES,
    PROCESSES,
    TOOLS,
    ENVIRONMENT,
    QUERIES_AND_HANDLES,
    DATATYPES_AND_OPS,
)
"""Together every function of MPI and every operation of c10d, without overlap."""

ALL = frozenset[str]().union(*CLASSES)


_BLOCKING_FORMS = {
    form: name for name in BLOCKING_COLLECTIVES for form in (f"I{name.lower()}", f"{name}_init")
}


def blocking_form(collective: str) -> str:
    """Return `Allreduce` of Iallreduce and Allreduce_init; all others as they are."""
    return _BLOCKING_FORMS.get(collective, collective)


def gloo_operation(name: str) -> str:
    """Return as what gloo sends the data of a c10d operation, as in GLOO_OPERATIONS, or nothing."""
    is_sent = name in TORCH_POINT_TO_POINT or name in TORCH_COLLECTIVES
    found = (operation for begin, operation in _GLOO_OPERATIONS if name.startswith(begin))
    return next(found, "") if is_sent else ""
