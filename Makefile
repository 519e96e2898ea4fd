# `make help` lists the targets. Set-up is done once and remembered in .stamps; it is done again only
# when what it was made from is newer.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
# Without bytecode each of hundreds of interpreters would compile pandas and pyspark anew.
unexport PYTHONDONTWRITEBYTECODE
PYTHON ?= python3

# The minor version of Spark that everything runs on; each has a jar and a virtual environment of its own.
SPARKS := 4.0 4.1 4.2 4.3
NEWEST := $(lastword $(SPARKS))
SPARK ?= $(NEWEST)
export SPARK
ifeq ($(filter $(SPARK),$(SPARKS)),)
$(error SPARK=$(SPARK): there is no build for it, only for $(SPARKS))
endif
PYSPARK_4.0 := 4.0.5
PYSPARK_4.1 := 4.1.4
PYSPARK_4.2 := 4.2.1
PYSPARK_4.3 := 4.3.0
# Maven Central has the test jars of no newer one.
CONFORMANCE_SPARK := $(if $(filter 4.3,$(SPARK)),4.2,$(SPARK))
# Stores on object stores ask nothing of Spark: they are tried with one Hadoop client.
STORAGE_SUITES := $(if $(filter 4.2,$(CONFORMANCE_SPARK)),s3/test)

VERSION := $(shell cat VERSION)
venv_of = $(if $(filter $(1),$(NEWEST)),.venv,.venvs/$(1))
VENV := $(call venv_of,$(SPARK))
VENV_STAMP := .stamps/venv-$(SPARK)
PY := $(VENV)/bin/python
JARS := python/src/bucketstate/jars
jar_of = $(JARS)/bucketstate-spark-$(1)_2.13-$(VERSION).jar
JAR := $(call jar_of,$(SPARK))
EVERY_JAR := $(foreach spark,$(SPARKS),$(call jar_of,$(spark)))
# What sbt makes of it, here and by `make lint`.
built_of = scala/target/spark-$(1)/scala-2.13/bucketstate-spark-$(1)_2.13-$(VERSION).jar
EVERY_BUILT := $(foreach spark,$(SPARKS),$(call built_of,$(spark)))
EVERY_VENV := $(SPARKS:%=.stamps/venv-%)
TYPED_ON := $(patsubst %,typed-on-%,$(filter-out $(NEWEST),$(SPARKS)))
TABS_ON := $(SPARKS:%=tab-on-%)
MOVES_ON := $(patsubst %,moves-on-%,$(filter-out $(NEWEST),$(SPARKS)))
SCALA_SOURCES := $(shell find scala/src/main -type f) python/src/bucketstate/doctor/rules.json build.sbt $(wildcard project/*.sbt project/*.scala project/*.properties) VERSION
PY_ROOMS := python/src python/bench python/hatch_build.py nexmark/src examples scripts tests
# Of Spark's suites, those that take seconds, up to one minute; full outer joins by the names of 4.1 and earlier, and of later ones.
QUICK_SUITES := *BucketedStateStoreSuite *StateManager*Suite *BucketedMergingSessionWindowSuite \
  *BucketedFlatMapGroupsWithStateExecHelperSuite *BucketedFullOuterJoinSuite *BucketedFullOuterJoinV4Suite \
  *BucketedValueStateSuite *BucketedListStateSuite *BucketedMapStateSuite *BucketedTimerSuite \
  *BucketedStatefulProcessorHandleSuite *BucketedTransformWithStateInPySparkStateServerSuite \
  *BucketedTransformWithStateValidationSuite *BucketedTransformWithStateChainingSuite *BucketedTransformWithListStateSuite
# Those that `make test` takes; `make engines` and `make conformance` take the others, too.
TEST_SUITES := $(filter-out *BucketedFullOuter% *BucketedTransformWithStateChainingSuite *BucketedTransformWithStateValidationSuite \
  *BucketedTransformWithListStateSuite,$(QUICK_SUITES))
# What `make conformance` takes: all where a page of all is kept, and the quick ones beside it.
CONFORMANCE_SUITES ?= $(if $(filter 4.0 4.1,$(CONFORMANCE_SPARK)),$(QUICK_SUITES),*)
CONFORMANCE_PAGE := docs/conformance$(if $(filter 4.0 4.1,$(CONFORMANCE_SPARK)),-$(CONFORMANCE_SPARK)).md
CONFORMANCE_REPORTS := artifacts/conformance/$(CONFORMANCE_SPARK)
BENCH_KEYS ?= 100k,1m,4m
BENCH_GROUPS ?= 20000

# What the second engine is held to with each `make test`; `make engines` takes more.
ENGINE_SUITES := *ProviderHistorySuite *FamiliesSuite *OwnScansSuite *ConcurrentAttemptsSuite *CheckpointIdsSuite \
  *OpenStoreSuite *SnapshotDamageSuite *IterationOrderSuite
ALL_ENGINE_SUITES := $(ENGINE_SUITES) *FamilyScansSuite *TransformWithStateSuite *SchemaEvolutionSuite *GroupStateSuite *LifecycleSuite *ExpirySuite *ExpiryQueriesSuite *FaultSweepSuite *SnapshotsSuite *SnapshotRetentionSuite \
  *FineGrainedReplaySuite *LongTailSuite *MetricsSuite *BadInputSuite *FamilyRulesSuite *GoldenPlansSuite *TableKeeperSuite
MOVES_PYTESTS := $(addprefix tests/integration/,test_move.py test_moving.py test_going_back.py test_savepoints.py test_upsert.py \
  test_moved_on.py test_moves_by_chance.py test_repartitioned.py test_in_place.py test_partitions_of_a_session.py)
ENGINE_PYTESTS := $(addprefix tests/integration/,test_operators.py test_queries.py test_stateful_queries.py test_transform_with_state.py test_cluster.py)

.PHONY: help quick suite quick-stop newest-scala oldest-scala nightly coverage demo demo-tws demo-move test test-scala engines test-python test-sparks lint format jar package release try-release bench figures bench-memory bench-native bench-small-process bench-large bench-expiry bench-stateful bench-tws bench-move bench-live bench-first-batch moves queries sweep conformance conformance-short generate docs clean hdfs bench-many soak chaos bench-s3 moved-checkpoint nexmark ruff lint-python rooms environments lint-scala $(TYPED_ON) $(MOVES_ON) tab $(TABS_ON) outside-links

##@ Newcomers

help: ## list the targets
	@echo "Needs a JDK 17+, Python 3.11+ and Maven or sbt; everything else is fetched once."
	@awk -F':.*## ' '/^##@ / {print "\n" substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  make %-20s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV_STAMP) $(JAR) ## stream a year of real flights through two stateful queries, with a restart half-way
	@PYTHONPATH=examples $(PY) -m flights

demo-tws: $(VENV_STAMP) $(JAR) ## the same year through transformWithState: a list, a map with TTL and timers, with a restart half-way
	@PYTHONPATH=examples $(PY) -m flights demo-tws

demo-move: $(VENV_STAMP) $(JAR) ## the same year begun on Spark's own state store, moved in with other partitions, and out to RocksDB
	@PYTHONPATH=examples $(PY) -m flights.moving

test: $(VENV_STAMP) $(JAR) ## run the Scala unit tests and pytest on real local Spark, beside each other (SPARK=4.2: on that minor version)
	@MAKE="$(MAKE)" scripts/test-both

##@ While working

quick: $(VENV_STAMP) ## check what was changed: format, and the tests of both languages' parts without Spark's sessions (two minutes)
	@test -f $(JAR) || $(MAKE) jar
	@MAKE="$(MAKE)" scripts/quick

suite: .stamps/tools ## run one Scala suite in an sbt that stays, in seconds (NAME=VersionedTableSuite)
	@scripts/kept-sbt suite "$(NAME)"

quick-stop: ## end the sbt that stays
	@scripts/kept-sbt stop

format: .stamps/venv-$(NEWEST) ## rewrite the sources in the project's format
	SPARK=4.2 scripts/sbt scalafixAll scalafmtAll
	SPARK=4.3 scripts/sbt core/Compile/scalafix core/scalafmtAll
	SPARK=4.1 scripts/sbt core/Compile/scalafix core/scalafmtAll conformance/Test/scalafix conformance/scalafmtAll
	SPARK=4.0 scripts/sbt core/Compile/scalafix core/scalafmtAll conformance/Test/scalafix conformance/scalafmtAll
	.venv/bin/ruff check --config python/pyproject.toml --fix $(PY_ROOMS)
	.venv/bin/ruff format --config python/pyproject.toml $(PY_ROOMS)

lint: lint-python lint-scala ## check formatting, imports and types in both languages

ruff: .stamps/venv-$(NEWEST)
	.venv/bin/ruff check --config python/pyproject.toml $(PY_ROOMS)
	.venv/bin/ruff format --config python/pyproject.toml --check $(PY_ROOMS)

lint-python: ruff
	.venv/bin/mypy --config-file python/pyproject.toml $(PY_ROOMS)

# One sbt for all, because only one may work in a folder, and each has to start and load the build.
# Compiled first, because scalafix compiles without -Werror, and what it compiled would be compiled again by the next.
# Packaged at last, because it is compiled: the jars are made of that.
LINT_ON_4.2 := scalafmtCheckAll Test/compile "scalafixAll --check"
LINT_ON_4.1 := core/scalafmtCheckAll core/compile "core/Compile/scalafix --check" conformance/scalafmtCheckAll
LINT_ON_4.0 := $(LINT_ON_4.1)
LINT_ON_4.3 := core/scalafmtCheckAll core/compile "core/Compile/scalafix --check"

# The newest one is compiled against its pyspark's jars.
lint-scala: .stamps/venv-$(NEWEST)
	@SPARK=4.2 scripts/sbt $(LINT_ON_4.2) core/package \
	  $(foreach spark,4.3 4.1 4.0,"onSpark $(spark)" $(LINT_ON_$(spark)) core/package)

rooms: $(VENV_STAMP) ## count the files of each folder, the arrows between rooms and who knows the table; fail where it is too much
	@$(PY) -m scripts.rooms

WITH_ROCKSDB := 'set every Test / envVars := Map("BUCKETSTATE_ENGINE" -> "rocksdb", "BUCKETSTATE_HISTORIES" -> "1")'

# One sbt for both engines: to start it and to load the build takes as long as some of the suites.
test-scala: $(VENV_STAMP) ## run the Scala unit tests only
	@SPARK=$(CONFORMANCE_SPARK) scripts/sbt core/test "conformance/testOnly $(TEST_SUITES)" $(STORAGE_SUITES) \
	  $(WITH_ROCKSDB) "core/testOnly $(ENGINE_SUITES)" "conformance/testOnly *BucketedStateStoreSuite"

newest-scala: $(VENV_STAMP) ## run the Scala unit tests on Spark 4.3 itself (make test takes the newest that has test jars, the Python tests 4.3)
	@SPARK=$(NEWEST) scripts/sbt core/test

oldest-scala: .stamps/tools ## run the Scala unit tests on Spark 4.1 and 4.0, too, which have suites of their own
	SPARK=4.1 scripts/sbt core/test $(WITH_ROCKSDB) "core/testOnly $(ENGINE_SUITES)"
	SPARK=4.0 scripts/sbt core/test $(WITH_ROCKSDB) "core/testOnly $(ENGINE_SUITES)"

test-python: $(VENV_STAMP) $(JAR) ## run pytest only (PYTEST_ARGS="-k name" narrows it)
	@$(PY) -m pytest $(PYTEST_ARGS)

##@ Before landing

test-sparks: $(EVERY_VENV) $(EVERY_JAR) ## run stateful queries on every minor version of Spark, on one checkpoint that moves from one to another; and the typed functions on each
	@$(MAKE) -j2 --output-sync=target moved-checkpoint $(TYPED_ON)

moved-checkpoint:
	@$(PY) -m pytest tests/sparks

$(TYPED_ON): typed-on-%:
	@$(call venv_of,$*)/bin/python -m pytest -q tests/unit/test_stateful_output.py tests/unit/test_stateful_types.py

hdfs: $(VENV_STAMP) $(JAR) ## run stores and queries on a real HDFS whose nodes fail: suites, then PySpark (5 minutes)
	SPARK=4.2 scripts/sbt hdfs/test hdfs/writeClassPath
	$(PY) -m pytest tests/hdfs

##@ At night

nightly: ## run all that is too long for a change, one after the other, with a page of results: artifacts/nightly/index.md (a night; NIGHT="engines sweep" narrows it)
	@MAKE="$(MAKE)" $(PYTHON) -m scripts.nightly $(NIGHT)

engines: $(VENV_STAMP) $(JAR) ## run the suites and pytests that stores and queries are held to, and the quick ones of Spark's, with engine=rocksdb (20 minutes)
	BUCKETSTATE_ENGINE=rocksdb BUCKETSTATE_SHORT_MEMORY=1 scripts/sbt "core/testOnly $(ALL_ENGINE_SUITES)"
	SPARK=$(CONFORMANCE_SPARK) BUCKETSTATE_ENGINE=rocksdb BUCKETSTATE_SHORT_MEMORY=1 scripts/sbt "conformance/testOnly $(QUICK_SUITES)"
	BUCKETSTATE_ENGINE=rocksdb $(PY) -m pytest $(ENGINE_PYTESTS)

conformance: .stamps/tools ## run suites of Spark's own tests on this provider and write docs/conformance.md (an hour or more; SPARK=4.1 or 4.0: the quick ones, docs/conformance-4.1.md)
	@rm -rf $(CONFORMANCE_REPORTS)
	@status=0; SPARK=$(CONFORMANCE_SPARK) scripts/sbt "conformance/testOnly $(CONFORMANCE_SUITES)" || status=$$?; \
	SPARK=$(CONFORMANCE_SPARK) scripts/sbt "conformance/Test/runMain io.bucketstate.conformance.Report $(CONFORMANCE_REPORTS) $(CONFORMANCE_PAGE)" || status=$$?; \
	exit $$status

conformance-short: .stamps/tools ## run the quick ones of Spark's suites while all that can leave memory leaves it with each batch
	SPARK=$(CONFORMANCE_SPARK) BUCKETSTATE_SHORT_MEMORY=1 scripts/sbt "conformance/testOnly $(QUICK_SUITES)"

coverage: $(VENV_STAMP) $(JAR) ## count the lines that the tests of both languages run: artifacts/coverage/index.md (a little longer than make test)
	@scripts/coverage

outside-links: $(VENV_STAMP) ## ask for every page outside of the project that its pages link to; what cannot be reached from here is told
	@$(PY) -m scripts.outside_links

# Each suite that tries less by day; those of moves are run by `make moves`.
SWEEP_SUITES = $(patsubst %.scala,*%,$(notdir $(shell grep -rlE 'Seeds\.(of|oneOf|atNight)|BUCKETSTATE_(SWEEP|HISTORIES)' \
  scala/src/test --include=*Suite.scala | grep -v /move/ | sort)))

sweep: .stamps/tools ## let every file call and every other step of a scripted history go wrong in every way, change bytes of files, and run many random histories (takes long; make test takes a sample)
	BUCKETSTATE_SWEEP=all BUCKETSTATE_HISTORIES=50 scripts/sbt \
	  "core/testOnly $(SWEEP_SUITES)"
	SPARK=4.2 BUCKETSTATE_SWEEP=all scripts/sbt s3/test

moves: $(VENV_STAMP) $(JAR) $(MOVES_ON) ## move the state of every operator, in all kinds of files, beside twins that are not moved, on every minor version of Spark (an hour and a half; make test takes some)
	BUCKETSTATE_SWEEP=all $(PY) -m pytest $(MOVES_PYTESTS)
	BUCKETSTATE_SWEEP=all $(PY) -m pytest tests/integration/test_cluster.py -k move
	BUCKETSTATE_SWEEP=all scripts/sbt "core/testOnly io.bucketstate.move.*"
	SPARK=4.2 BUCKETSTATE_SWEEP=all scripts/sbt "s3/testOnly *MovesSuite"
	SPARK=$(CONFORMANCE_SPARK) scripts/sbt "conformance/testOnly *GoldenMovesSuite"

$(MOVES_ON): moves-on-%: $(EVERY_VENV) $(EVERY_JAR)
	@BUCKETSTATE_SWEEP=all $(call venv_of,$*)/bin/python -m pytest -q tests/integration/test_move.py tests/integration/test_upsert.py \
	  -k "in_and_out_again or whatever_the_files_are_like or there_and_back or lie_by_no_rule or maps or goes_on_as_its_twin"

tab: $(TABS_ON) ## look at the tab "State" in headless Chromium, of a live application and in the history server, on each minor version of Spark

$(TABS_ON): tab-on-%: $(EVERY_VENV) $(EVERY_JAR)
	@BUCKETSTATE_SWEEP=all $(call venv_of,$*)/bin/python -m pytest -q tests/integration/test_state_tab.py

queries: $(EVERY_VENV) $(EVERY_JAR) ## run every case of the pytests, but for those of moves: every damaged checkpoint, key, window, format, and ten times the random ones (make test takes some)
	BUCKETSTATE_SWEEP=all $(PY) -m pytest tests/unit --timeout 900
	BUCKETSTATE_SWEEP=all $(PY) -m pytest tests/integration $(addprefix --ignore=,$(MOVES_PYTESTS))
	BUCKETSTATE_SWEEP=all $(PY) -m pytest tests/sparks

KILLS ?= 300
SEED ?= 15
MINUTES ?= 60

chaos: $(VENV_STAMP) $(JAR) ## kill executors, workers and drivers of a cluster while queries run, and check every answer (KILLS=300 SEED=15, two hours at most)
	@mkdir -p artifacts/chaos
	@PYTHONPATH=python/src:. $(PY) -m tests.chaos --kills $(KILLS) --seed $(SEED) --minutes 120 --json artifacts/chaos/$(SEED).json

soak: $(VENV_STAMP) $(JAR) ## run queries at full speed for MINUTES=60 on each engine and see that threads, handles, memory and files stay flat
	@mkdir -p artifacts/bench
	@status=0; $(PY) python/bench/soak.py --minutes $(MINUTES) --json artifacts/bench/soak.json || status=$$?; \
	$(PY) python/bench/soak.py --minutes $(MINUTES) --engine rocksdb --json artifacts/bench/soak-rocksdb.json || status=$$?; \
	$(PY) python/bench/pictures.py artifacts/bench; exit $$status

##@ Figures

bench: $(VENV_STAMP) $(JAR) ## measure this provider beside Spark's own two: batches, restarts, operations, PySpark; reports and pictures in artifacts/bench (BENCH_KEYS=100k,1m,4m)
	@mkdir -p artifacts/bench
	scripts/sbt "bench/runMain io.bucketstate.bench.providers.ProviderBenchmark --keys $(BENCH_KEYS) --json artifacts/bench/providers.json" \
	  "bench/runMain io.bucketstate.bench.providers.ProviderBenchmark --keys 1m --filesystem hadoop --json artifacts/bench/providers-hadoop.json" \
	  "bench/runMain io.bucketstate.bench.longrun.LongRunBenchmark --keys 1m --json artifacts/bench/long-run.json" \
	  "bench/runMain io.bucketstate.bench.restart.RestartBenchmark --keys $(BENCH_KEYS) --json artifacts/bench/restart.json" \
	  "bench/runMain io.bucketstate.bench.operations.OperationBenchmark --keys 1m --json artifacts/bench/operations.json" \
	  "bench/runMain io.bucketstate.bench.operations.SmallRowsBenchmark --json artifacts/bench/small-rows.json"
	$(PY) python/bench/end_to_end.py --partitions 200 --keys 200000 --rows 20000 --batches 15 --json artifacts/bench/partitions.json
	$(PY) python/bench/end_to_end.py --json artifacts/bench/end-to-end.json
	$(PY) python/bench/end_to_end.py --query join --keys 200000 --rows 20000 --json artifacts/bench/join.json
	@$(MAKE) bench-memory
	@$(MAKE) bench-native
	@$(MAKE) bench-small-process
	@$(MAKE) bench-expiry
	@$(MAKE) bench-stateful
	@$(MAKE) bench-tws
	@$(MAKE) bench-move
	@$(MAKE) bench-live
	@$(MAKE) bench-first-batch
	@$(MAKE) bench-many
	@$(MAKE) bench-s3
	@$(MAKE) nexmark
	@$(PY) python/bench/pictures.py artifacts/bench

figures: $(VENV_STAMP) ## keep the figures of artifacts/bench in docs/measured.json, and write them into README and the pages of docs
	$(PY) -m scripts.figures --reports artifacts/bench

# A quarter of the state's bytes for both, and a heap that fits it; HDFSBackedStateStoreProvider does not fit.
STATE_STORE := spark.sql.streaming.stateStore
BENCH_MEMORY := --keys 5m --batches 60 \
  --conf $(STATE_STORE).bucketed.memory.maxBytes=210m \
  --conf $(STATE_STORE).rocksdb.boundedMemoryUsage=true --conf $(STATE_STORE).rocksdb.maxMemoryUsageMB=210

bench-memory: $(JAR) ## measure batches over a state of four times the memory, beside RocksDB with as much
	@mkdir -p artifacts/bench
	scripts/sbt 'set bench / run / javaOptions += "-Xmx1g"' \
	  "bench/runMain io.bucketstate.bench.longrun.LongRunBenchmark $(BENCH_MEMORY) --providers rocksdb,rocksdb-tuned,bucketed,hdfs --draw uniform --json artifacts/bench/memory-uniform.json" \
	  "bench/runMain io.bucketstate.bench.longrun.LongRunBenchmark $(BENCH_MEMORY) --providers rocksdb,rocksdb-tuned,bucketed --draw zipf --json artifacts/bench/memory-zipf.json"

# As much memory for RocksDB's provider as the second engine may use in all, and the same heap.
same_memory = --conf $(STATE_STORE).bucketed.memory.maxBytes=$(1)m \
  --conf $(STATE_STORE).rocksdb.boundedMemoryUsage=true --conf $(STATE_STORE).rocksdb.maxMemoryUsageMB=$(1)
BENCH_NATIVE := --heap 256m --batches 120 --warm-up 20 --providers rocksdb,rocksdb-tuned,bucketed-rocksdb

# The bytes that the two engines write are compared where the state fits into the heap of both.
bench-native: $(JAR) ## measure batches, process memory and restarts of engine=rocksdb, beside RocksDB with as much memory
	@mkdir -p artifacts/bench
	scripts/sbt "bench/runMain io.bucketstate.bench.providers.ProviderBenchmark --keys 1m $(call same_memory,512) $(BENCH_NATIVE) --json artifacts/bench/native.json" \
	  "bench/runMain io.bucketstate.bench.providers.ProviderBenchmark --keys 4m $(call same_memory,2048) $(BENCH_NATIVE) --json artifacts/bench/native-large.json" \
	  "bench/runMain io.bucketstate.bench.providers.ProviderBenchmark --keys 4m $(call same_memory,1024) $(BENCH_NATIVE) --json artifacts/bench/native-short.json" \
	  "bench/runMain io.bucketstate.bench.providers.ProviderBenchmark --keys 1m,4m --heap 3g --batches 60 --providers bucketed,bucketed-rocksdb --json artifacts/bench/engines.json" \
	  "bench/runMain io.bucketstate.bench.restart.RestartBenchmark --keys 1m,4m $(call same_memory,1024) --filesystem hadoop --tails 20 --rounds 3 --providers rocksdb,rocksdb-tuned,bucketed-rocksdb,bucketed-rocksdb-local --json artifacts/bench/native-restart.json"

bench-small-process: $(VENV_STAMP) $(JAR) ## stream 20 M keys from PySpark through engine=rocksdb in a process of 3 GiB, and check every answer
	@mkdir -p artifacts/bench
	$(PY) python/bench/end_to_end.py --keys 20000000 --rows 50000 --batches 10 --restarts 1 --preload-files 40 \
	  --providers bucketed-rocksdb --heap 1g --conf $(STATE_STORE).bucketed.memory.maxBytes=1g \
	  --check --limit 3072 --json artifacts/bench/small-process.json

bench-large: $(VENV_STAMP) $(JAR) ## load 100 M keys on this machine alone, go on for an hour, restart, verify, report (BENCH_LARGE="--keys 1000000 --batches 50"; two hours, 40 GB of disk)
	@mkdir -p artifacts/bench
	$(PY) python/bench/large_state.py $(BENCH_LARGE) --json artifacts/bench/large-state.json
	$(PY) python/bench/pictures.py artifacts/bench

bench-expiry: $(JAR) ## measure batches of a state of which a twelfth expires with each, beside one that stays and one that is removed by scans
	@mkdir -p artifacts/bench
	scripts/sbt "bench/runMain io.bucketstate.bench.studies.ExpiryBenchmark --json artifacts/bench/expiry.json"

bench-stateful: $(VENV_STAMP) $(JAR) ## measure bucketstate.stateful on both operators, beside them by hand (BENCH_GROUPS=20000), and with many keys in a call
	@mkdir -p artifacts/bench
	$(PY) python/bench/many_keys.py --json artifacts/bench/many-keys.json
	$(PY) python/bench/many_keys_memory.py --json artifacts/bench/many-keys-memory.json
	$(PY) python/bench/stateful_cost.py --groups $(BENCH_GROUPS) --json artifacts/bench/stateful.json

# Each call from Python is a round trip through a socket: a tenth of the rows of the other queries take as long.
BENCH_TWS_PYTHON := --keys 20000 --rows 2000 --batches 20 --providers rocksdb-default,rocksdb,rocksdb-tuned,bucketed --check

bench-move: $(VENV_STAMP) $(JAR) ## measure moves of 10 M keys between providers, on a heap of 700 MB, beside Spark's own repartition (BENCH_MOVE="--keys 1000000")
	@mkdir -p artifacts/bench
	$(PY) python/bench/moving.py $(BENCH_MOVE) --json artifacts/bench/moving.json

bench-live: $(VENV_STAMP) $(JAR) ## measure look-ups from another process in the state of a running query of 1 M keys, and what they cost it (BENCH_LIVE="--pace 5000")
	@mkdir -p artifacts/bench
	$(PY) python/bench/live.py --json artifacts/bench/live.json $(BENCH_LIVE)

bench-first-batch: $(VENV_STAMP) $(JAR) ## measure how long an application takes from nothing to its first batch, with the warm-up and without, beside RocksDB's provider (BENCH_FIRST="--rounds 3")
	@mkdir -p artifacts/bench
	$(PY) python/bench/first_batch.py --json artifacts/bench/first-batch.json $(BENCH_FIRST)

bench-tws: $(VENV_STAMP) $(JAR) ## measure transformWithState, in Scala and in Python, beside RocksDB's provider: batches, commits, restarts, memory
	@mkdir -p artifacts/bench
	scripts/sbt "bench/runMain io.bucketstate.bench.tws.TransformWithStateBenchmark --providers rocksdb-default,rocksdb,rocksdb-tuned,bucketed,bucketed-rocksdb,eager --json artifacts/bench/tws.json"
	$(PY) python/bench/end_to_end.py --query tws-pandas $(BENCH_TWS_PYTHON) --json artifacts/bench/tws-pandas.json
	$(PY) python/bench/end_to_end.py --query tws-rows $(BENCH_TWS_PYTHON) --json artifacts/bench/tws-rows.json

bench-many: $(VENV_STAMP) $(JAR) ## measure 600 small stores in one process beside Spark's own providers: start, batches, restart, threads, memory
	@mkdir -p artifacts/bench
	$(PY) python/bench/many_stores.py --json artifacts/bench/many-stores.json

bench-s3: $(VENV_STAMP) ## count what a commit asks of an object store, and time it, beside Spark's own two, on S3A against an emulator
	@mkdir -p artifacts/bench
	SPARK=4.2 scripts/sbt "s3/Test/runMain io.bucketstate.s3.RequestBenchmark --json artifacts/bench/s3.json"

nexmark: $(VENV_STAMP) $(JAR) ## run Nexmark on each state store in turns, every answer checked: artifacts/nexmark (10 M events, hours; NEXMARK="--events 500k --queries q5")
	@PYTHONPATH=nexmark/src $(PY) -m bucketstate_nexmark $(NEXMARK)

##@ What is published

jar: $(JAR) ## build the jar for one minor version of Spark (SPARK=4.1)

package: $(VENV_STAMP) $(EVERY_JAR) ## build the jars, and the Python wheel that carries them, into dist/
	@rm -f dist/*.whl
	@$(PY) -m pip wheel --quiet --no-deps --wheel-dir dist ./python
	@ls dist/*.whl

release: $(VENV_STAMP) $(EVERY_JAR) ## all that is published, into dist/: jars, sources, API documentation and POMs for each Spark, sdist and wheel, checksums; looked through
	@rm -rf dist && mkdir -p dist
	@for spark in $(SPARKS); do \
	  SPARK=$$spark scripts/sbt core/packageBin core/packageSrc core/packageDoc core/makePom; \
	  cp scala/target/spark-$$spark/scala-2.13/bucketstate-spark-$${spark}_2.13-$(VERSION)*.{jar,pom} dist/; \
	done
	@$(PY) -m build --outdir dist python
	@cd dist && sha256sum * > SHA256SUMS && cat SHA256SUMS
	@$(PY) -m scripts.check_release dist $(VERSION) $(SPARKS)

try-release: ## install the wheel of dist/ beside each Spark in an empty virtual environment, and run queries there; then what the sdist makes, and the page of five minutes
	@for of in $(foreach spark,$(SPARKS),$(PYSPARK_$(spark))); do scripts/try-wheel "$(PYTHON)" $$of dist/bucketstate-$(VERSION)-py3-none-any.whl; done
	@room=$$(mktemp -d) && trap 'rm -rf "$$room"' EXIT && sdist=$$PWD/dist/bucketstate-$(VERSION).tar.gz && \
	(cd "$$room" && "$(PYTHON)" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-cache-dir --wheel-dir . "$$sdist") && \
	scripts/try-wheel "$(PYTHON)" $(PYSPARK_$(NEWEST)) "$$room"/bucketstate-$(VERSION)-py3-none-any.whl
	@scripts/try-page "$(PYTHON)"

generate: $(VENV_STAMP) ## make all that repeats the Scala registry of settings and metrics: Conf, conf/, docs
	scripts/sbt "bench/runMain io.bucketstate.config.GenerateSettings python/src/bucketstate/settings.json" \
	  "bench/runMain io.bucketstate.rocksdb.GenerateNativeOptions python/src/bucketstate/rocksdb_options.json"
	$(PY) -m scripts.generate

docs: $(VENV_STAMP) ## build the documentation into artifacts/site
	$(PY) -m zensical build --strict --clean
	@echo "artifacts/site/index.html"

##@ This folder

environments: $(EVERY_VENV) ## set up the virtual environments of all minor versions of Spark

# The sbt that stays is found by a file that goes with the rest.
clean: ## remove everything that was built; the next run sets up again
	@scripts/kept-sbt stop || echo "The sbt that stays did not end: look for its process." >&2
	rm -rf artifacts dist .cache .stamps .venv .venvs target scala/target scala/bench/target scala/conformance/target scala/hdfs/target scala/s3/target project/target project/project
	rm -f $(JARS)/*.jar

# One check of the machine, with a sentence for whatever is missing.
.stamps/tools: scripts/check-tools
	@PYTHON="$(PYTHON)" scripts/check-tools
	@mkdir -p .stamps && touch $@

# With the extra that `dev` names: pip takes pyspark[connect] for a package of its own, and without its version here it
# fetches every newer Spark, 450 MB each, before it comes to this one. Bytecode is made of what is imported, when it is:
# that of all packages takes a third of the time.
INSTALL := -m pip install --disable-pip-version-check --no-compile
.stamps/venv-$(NEWEST): python/pyproject.toml .stamps/tools
	@echo "Setting up .venv with $(PYTHON) and Spark $(PYSPARK_$(NEWEST)) (once; Spark alone is about 450 MB)..."
	@"$(PYTHON)" -m venv .venv
	@.venv/bin/python $(INSTALL) -e 'python[demo,docs,dev]' 'pyspark[connect]==$(PYSPARK_$(NEWEST))'
	@touch $@

# The others have a Spark of their own, which comes first, and all else from there: pip takes a minute and a half of
# processor time for those packages. The wheel that it makes of Spark is thrown away, so it is not compressed.
.stamps/venv-%: .stamps/venv-$(NEWEST)
	@echo "Setting up .venvs/$* with Spark $(PYSPARK_$*) (once; about 450 MB)..."
	@"$(PYTHON)" -m venv .venvs/$*
	@.venvs/$*/bin/python $(INSTALL) --no-deps -e python 'pyspark==$(PYSPARK_$*)' \
	  --config-settings=--build-option=--compression=stored
	@.venvs/$*/bin/python -m scripts.shared_packages .venv
	@touch $@

# Spark 4.3 is compiled against the jars of its pyspark.
$(call built_of,4.3): | .stamps/venv-4.3

# sbt leaves a jar as it is whose content stays.
$(EVERY_BUILT): $(SCALA_SOURCES) | .stamps/tools
	@spark=$(patsubst scala/target/spark-%/scala-2.13/,%,$(dir $@)); \
	echo "Building the provider's jar for Spark $$spark with sbt (again only when its sources change)..."; \
	SPARK=$$spark scripts/sbt core/package
	@touch $@

# Its rule asks for the jar by the version, which make knows only while it looks for it.
.SECONDEXPANSION:
$(EVERY_JAR): $(JARS)/bucketstate-spark-%_2.13-$(VERSION).jar: $$(call built_of,$$*)
	@mkdir -p $(JARS) && rm -f $(JARS)/bucketstate_*.jar $(JARS)/bucketstate-spark-$*_*.jar
	@cp $< $@
