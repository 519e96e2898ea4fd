package io.bucketstate.spark

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.streaming.state.{SparkInternals, StateStoreConf, StateStoreId}

import io.bucketstate.config.{QueryScope, SparkHonoured, StoreConfig}
import io.bucketstate.error.InvalidException

/** Spark's `StateStoreConf` as the one checked [[StoreConfig]]. */
private[bucketstate] object SparkSettings {

  /**
   * Whose settings a store's are.
   *
   * Spark tells its executors no query's name but in the description of the jobs, which user code may set, too. One of
   * another run is none of the store's: user code reads state in a batch of another query, or a thread has outlived one.
   */
  def scopeOf(store: StateStoreId, conf: StateStoreConf, hadoopConf: Configuration): Whose = {
    def of(query: Option[String]) = QueryScope(query, Some(store.operatorId))
    SparkInternals.runId(hadoopConf).fold(Whose(of(None))) { run =>
      SparkInternals.jobDescription match {
        case Some(Description(name, described)) if described == run.toString =>
          Whose(of(Some(name).filter(_.nonEmpty)))
        case other if QueryScope.hasQueries(conf.sqlConfs) =>
          val refusal = new InvalidException(
            "There are settings for single queries by their names, but the name of the query of store " +
              s"$store, in run $run, is not known: its jobs are described as '${other.getOrElse("")}'",
            "In the query's own code set no job description, and start jobs only in the thread that a batch is given to or in " +
              "those that it makes; or give the settings for the operator: with the suffix " +
              s".operator.${store.operatorId}."
          )
          Whose(of(None), Some(refusal))
        case _ => Whose(of(None))
      }
    }
  }

  /**
   * @param scope   whose settings are wanted, as far as it is known
   * @param refusal why nothing may be written with them, where it is not known and there are settings of queries. Reading is
   *                no matter of theirs.
   */
  final case class Whose(scope: QueryScope, refusal: Option[InvalidException] = None)

  // As Spark's StreamExecution describes a batch's jobs.
  private val Description = "(?s)(.*)\nid = [0-9a-f-]+\nrunId = ([0-9a-f-]+).*".r

  /**
   * Whether the schemas of values may change: where Spark would use its Avro encoding. It allows such
   * changes of the operators alone that it gives the schemas of.
   */
  def evolves(conf: StateStoreConf): Boolean = conf.stateStoreEncodingFormat == "avro"

  /** Throws where Spark calls a store from two threads at once. */
  def requireOneThread(): Unit =
    if (SparkInternals.hasTwoThreads)
      throw new InvalidException(
        s"${SparkInternals.PipelinedPython} is true: with it Spark calls a state store from two threads at once, and " +
          "states could come under other keys",
        s"Start the application without ${SparkInternals.PipelinedPython}."
      )

  /** @param scope whose settings are wanted */
  def read(conf: StateStoreConf, scope: QueryScope = QueryScope.Unknown): StoreConfig = {
    val repair = new SnapshotRepair(conf)
    val maintenance = new MaintenanceSettings(conf)
    StoreConfig.parse(
      conf.sqlConfs,
      SparkHonoured(
        minVersionsToRetain = conf.minVersionsToRetain,
        minVersionsToDelete = conf.minVersionsToDelete,
        maxVersionsToDelete = maintenance.mostToDelete,
        versionsInMemory = math.max(1, conf.maxVersionsToRetainInMemory),
        minDeltasForSnapshot = conf.minDeltasForSnapshot,
        compressionCodec = conf.compressionCodec,
        repair = repair.enabled,
        repairAfterFailures = repair.afterFailures,
        repairMaxChangelogs = repair.maxChangelogs,
        checkpointIds = conf.enableStateStoreCheckpointIds,
        unloadOnCommit = maintenance.unloadsOnCommit
      ),
      scope
    )
  }
}
