"""Every attack class of SECURITY.md is mounted by tests; this is the index, and it fails when one of them is gone."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ARCHIVES, LIMITS, WIRE = "app/intake/test_archives.py", "app/intake/test_limits.py", "app/test_protocol.py"
CODE, BOMBS = "app/attacks/test_hidden_code.py", "app/attacks/test_bombs.py"
PROBLEMS, PREDICTIONS = "app/api/test_problems.py", "app/api/test_predictions.py"
ROWS = {
    "A1": {
        PROBLEMS: ["every_route_but_the_probes_needs_the_token"],
        "e2e/test_embedded.py": ["weak_settings_refuse_to_start"],
    },
    "A2": {
        "contract/test_banned.py": ["nothing_in_the_sources_runs_data_as_code", "the_ban_sees_what_it_bans"],
        CODE: ["nothing_is_unpickled_between_a_file_and_its_predictions", "no_route_takes_a_model"],
    },
    "A3": {CODE: ["models_and_pickles_are_refused_unread", "saying_another_format_does_not_help"]},
    "A4": {
        CODE: ["models_and_pickles_are_refused_unread"],
        ARCHIVES: ["arrays_that_cannot_be_used_are_refused"],
    },
    "A5": {"contract/test_dependencies.py": ["readers_of_foreign_models_are_not_installed"]},
    "A6": {
        "app/attacks/test_paths.py": [
            "no_id_in_an_address_is_a_path",
            "no_parameter_of_any_operation_is_a_path_or_an_address",
            "a_name_that_looks_like_a_path_is_only_a_name",
        ],
        "app/api/test_exports.py": ["no_word_of_the_user_s_is_a_path_in_the_archive"],
        "app/core/test_storage.py": ["only_our_own_ids_become_paths"],
        ARCHIVES: ["a_faulty_archive_is_refused_with_its_entry"],
    },
    "A7": {
        "app/attacks/test_outgoing.py": [
            "no_part_that_serves_can_fetch",
            "an_embedded_service_connects_to_nothing",
            "a_service_on_servers_connects_to_them_alone",
        ]
    },
    "A8": {
        BOMBS: [
            "entries_that_share_bytes_by_quoting_headers_are_refused",
            "a_million_empty_entries_are_refused_before_they_are_listed",
            "a_name_of_thirty_thousand_folders_is_refused",
        ],
        ARCHIVES: [
            "a_faulty_archive_is_refused_with_its_entry",
            "duplicate_overlapping_and_encrypted_entries_are_refused",
            "a_lying_size_is_found_while_unpacking",
            "too_many_entries_and_too_much_in_all_are_refused",
        ],
    },
    "A9": {
        ARCHIVES: ["an_archive_of_image_bombs_is_refused"],
        BOMBS: ["a_picture_of_too_many_pixels_is_not_unpacked_for_a_prediction"],
    },
    "A10": {
        LIMITS: [
            "a_dictionary_of_463_bytes_that_holds_two_gigabytes_is_refused",
            "a_run_of_many_million_equal_values_is_refused",
            "a_cell_of_a_hundred_megabytes_is_refused",
            "a_header_of_three_hundred_thousand_columns_is_refused",
        ],
        BOMBS: ["a_quoted_field_without_an_end_is_refused"],
        CODE: ["an_extension_type_is_only_a_column"],
    },
    "A11": {
        "contract/test_dependencies.py": ["parsers_of_forms_are_not_installed"],
        "app/test_limits.py": ["a_form_is_415"],
    },
    "A12": {BOMBS: ["ten_thousand_ranges_cost_nothing"]},
    "A13": {
        WIRE: [
            "a_silent_connection_is_closed",
            "half_a_head_is_told_and_closed",
            "a_head_that_drips_is_closed_all_the_same",
            "half_a_body_is_told_and_closed_and_the_application_hears_of_it",
            "three_megabytes_of_headers_are_431",
            "the_defaults_are_the_figures_we_promise",
        ],
        "app/test_limits.py": ["an_undeclared_body_is_counted_while_it_streams"],
        PROBLEMS: ["malformed_is_400_and_well_formed_but_wrong_is_422"],
        PREDICTIONS: ["rows_that_the_model_cannot_read_are_refused_with_a_reason"],
        "app/attacks/test_raw_http.py": ["whatever_comes_over_the_wire_the_service_answers_afterwards"],
    },
    "A14": {
        WIRE: [
            "a_request_with_two_possible_ends_is_400",
            "a_chunk_size_with_two_readings_is_400",
            "chunks_are_refused_from_http_1_0",
        ],
        "app/attacks/test_raw_http.py": ["whatever_comes_over_the_wire_the_service_answers_afterwards"],
    },
    "A15": {
        "app/attacks/test_forged_messages.py": ["forged_messages_change_nothing"],
        "worker/test_parts.py": ["celery_acknowledges_early_and_reads_json_alone"],
    },
    "A16": {
        PROBLEMS: ["a_refusal_does_not_repeat_what_was_sent", "a_fault_of_ours_is_a_500_that_tells_nothing"]
    },
    "A18": {PROBLEMS: ["a_foreign_host_is_421_even_for_the_probes", "no_host_header_opens_a_door"]},
    "A20": {
        "app/api/test_jobs.py": ["a_full_queue_is_429"],
        "app/intake/test_tables.py": [
            "more_rows_or_columns_than_allowed_are_refused",
            "a_file_that_cannot_be_used_is_refused_with_code_and_place",
        ],
    },
}

ROWS["A1"] = ROWS.get("A1", {}) | {
    "app/attacks/test_open_services.py": [
        "a_service_for_the_internet_does_not_start_without_a_strong_key",
        "a_strong_key_will_do_and_loopback_is_the_default",
        "every_route_without_credentials_is_401",
        "no_name_leads_to_code",
    ]
}
ROWS["A16"] = ROWS.get("A16", {}) | {
    "app/attacks/test_leaking_errors.py": [
        "no_refusal_of_any_operation_repeats_what_was_sent",
        "no_fault_of_ours_tells_where_it_happened",
    ]
}
ROWS["A17"] = ROWS.get("A17", {}) | {
    "app/attacks/test_known_secrets.py": [
        "two_fresh_installs_have_different_keys_that_only_their_owner_can_read",
        "the_sources_hold_no_secret",
        "secrets_are_compared_in_constant_time",
        "what_is_kept_of_a_key_does_not_lead_back_to_it",
    ]
}
ROWS["A18"] = ROWS.get("A18", {}) | {
    "app/attacks/test_browsers.py": [
        "a_change_by_cookie_needs_the_token_of_our_page",
        "the_token_opens_and_a_foreign_origin_closes_again",
        "the_token_of_one_session_is_not_that_of_another",
        "no_other_origin_is_told_anything",
        "a_rebound_name_is_421_with_the_right_key_and_with_the_cookie",
        "a_public_service_answers_to_the_names_that_it_was_given",
        "every_answer_tells_browsers_to_keep_their_hands_off",
    ]
}
ROWS["A19"] = ROWS.get("A19", {}) | {
    "app/attacks/test_other_tenants.py": [
        "every_operation_on_a_foreign_id_is_404",
        "a_foreign_dataset_cannot_be_trained_on_nor_a_foreign_model_asked",
        "lists_show_what_is_one_s_own",
        "what_a_tenant_makes_is_its_own_down_to_the_model",
        "an_idempotency_key_of_one_tenant_means_nothing_to_another",
        "a_tenant_cannot_choose_its_project",
        "a_session_of_the_database_never_leaves_its_project",
        "handlers_have_no_other_way_to_the_database",
        "a_stranger_learns_nothing_from_ids",
    ],
    "app/api/test_models.py": [
        "names_aliases_and_numbers_of_tenants_have_nothing_to_do_with_each_other",
    ],
}
ROWS["A20"] = ROWS.get("A20", {}) | {
    "app/attacks/test_exhausting_work.py": [
        "one_above_the_cap_is_refused",
        "a_tenant_that_fills_its_queue_does_not_fill_its_neighbour_s",
        "the_queue_of_all_has_an_end_too",
        "predictions_have_a_most_at_once",
    ]
}


def written(file: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("row", ROWS)
def test_the_attack_is_mounted(row):
    for file, names in ROWS[row].items():
        assert {f"test_{name}" for name in names} <= written(file), file


def test_every_class_is_told_of_and_has_its_tests():
    told = re.findall(r"^\| (A\d+) \|", (ROOT / "SECURITY.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert told == [f"A{number}" for number in range(1, 21)]
    assert set(ROWS) == set(told)


def test_what_is_promised_fits_on_a_page():
    assert (ROOT / "SECURITY.md").read_text(encoding="utf-8").count("\n") < 80
