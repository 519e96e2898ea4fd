package io.bucketstate.bench
package operations

import scala.util.Using

/** Point operations, scans and eviction, a provider after the other. */
object OperationBenchmark {
  private val wanted = Seq(
    OperationTarget("evict 0 %", Contender.rocksdb, 0.2),
    OperationTarget("evict 0 %", Contender.hdfs, 1.0),
    OperationTarget("put", Contender.hdfs, 1.0),
    OperationTarget("remove", Contender.hdfs, 1.0),
    OperationTarget(s"prefix scan of ${OperationRows.PerGroup}", Contender.rocksdb, 0.5)
  )

  def main(args: Array[String]): Unit = {
    val all = Seq(Contender.hdfs, Contender.rocksdb, Contender.bucketed)
    Commands.run(args, BenchOptions(contenders = all, rounds = 5))(run)
  }

  private def run(options: BenchOptions): Unit = {
    val results = Using.resource(WorkFolder.create(options.workDir)) { folder =>
      for {
        keys <- options.keyCounts
        contender <- options.contenders
        result <- new OperationRun(contender, keys, options, folder).run()
      } yield result
    }
    OperationReport.publish(results, wanted, options)
  }
}
