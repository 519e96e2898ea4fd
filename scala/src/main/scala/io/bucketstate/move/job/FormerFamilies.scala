package io.bucketstate.move.job

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

import io.bucketstate.move.read.{ProviderRows, SourceQuery, SourceStore}

/**
 * Counts the keys that Spark's RocksDB stores still have in families which the newest form of the query does not declare. The
 * stores are opened for that only where an older schema has such families: it takes as long as to load them.
 */
private[move] object FormerFamilies {

  /** By store, of families that have keys. */
  def of(
      spark: SparkSession,
      source: SourceQuery,
      conf: Configuration
  ): Map[OwnHeads.Named, Map[String, Long]] = {
    val all = for {
      operator <- source.operators
      store <- operator.stores
      former = source.formerFamilies(store)
      if former.nonEmpty
      partition <- 0 until (if (operator.isGlobal) 1 else source.partitions)
    } yield (store, former, partition)
    if (all.isEmpty) Map.empty
    else
      try counted(spark, source, conf, all).groupMapReduce(_._1)(_._2)(added)
      catch { case NonFatal(e) => throw JobFailure.told(e) }
  }

  private def counted(
      spark: SparkSession,
      source: SourceQuery,
      conf: Configuration,
      all: Seq[(SourceStore, Seq[String], Int)]
  ): Seq[(OwnHeads.Named, Map[String, Long])] = {
    val hadoop = spark.sparkContext.broadcast(new SerializableConfiguration(conf))
    val (root, version, storeConf) = (source.folder.path.toString, source.version, source.storeConf)
    spark.sparkContext
      .parallelize(all, all.size)
      .map { case (store, former, partition) =>
        val rows = new ProviderRows(
          store,
          new Path(root),
          partition,
          version,
          storeConf,
          hadoop.value.value
        )
        try ((store.operator, store.name), rows.keysIn(former))
        finally rows.close()
      }
      .collect()
      .toSeq
  }

  private def added(a: Map[String, Long], b: Map[String, Long]): Map[String, Long] =
    (a.toSeq ++ b.toSeq).groupMapReduce(_._1)(_._2)(_ + _)
}
