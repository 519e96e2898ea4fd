package io.bucketstate.move.job

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

import io.bucketstate.checkpoint.records.FamilyEncodings
import io.bucketstate.error.InvalidException
import io.bucketstate.move.job.JobFailure
import io.bucketstate.move.read.{OwnRecords, SourceQuery, SourceStore}
import io.bucketstate.record.{FamilyDescriptor, TimeBuckets}

/**
 * What the files of all partitions of a store say of it together.
 *
 * @param families   by their names; without a number that means anything
 * @param keys       of all families that the query declares, as the files have counted them; None where nobody has
 * @param undeclared keys of families that the newest form of the query does not declare, by their names
 */
private[move] final case class StoreHead(
    numBuckets: Int,
    families: Map[String, FamilyDescriptor],
    allTimes: Map[String, TimeBuckets],
    keys: Option[Long],
    undeclared: Map[String, Long]
) {
  def family(name: String): Option[FamilyDescriptor] = families.get(name)

  /** All but the counts. */
  def times(name: String): Option[TimeBuckets] = allTimes.get(name)
}

/**
 * Reads the heads of the files of stores of this project: manifests and changelogs, and no records but those that nobody has
 * counted of families that are declared no more.
 */
private[move] object OwnHeads {

  /** An operator and the name of a store of it. */
  type Named = (Long, String)

  private final case class PartHead(
      numBuckets: Int,
      families: Seq[(FamilyDescriptor, Option[TimeBuckets])],
      keys: Option[Long],
      undeclared: Map[String, Long]
  )

  def of(
      spark: SparkSession,
      source: SourceQuery,
      conf: Configuration
  ): Map[Named, StoreHead] = {
    val hadoop = spark.sparkContext.broadcast(new SerializableConfiguration(conf))
    val (root, version, storeConf) = (source.folder.path.toString, source.version, source.storeConf)
    val all = for {
      operator <- source.operators
      store <- operator.stores
      partition <- 0 until (if (operator.isGlobal) 1 else source.partitions)
    } yield (store, partition)
    val tasks = math.max(1, math.min(all.size, spark.sparkContext.defaultParallelism))
    def read = spark.sparkContext
      .parallelize(all, tasks)
      .map { case (store, partition) =>
        val config = OwnRecords.configOf(storeConf)
        val path = new Path(root)
        val records = new OwnRecords(store, path, partition, version, config, hadoop.value.value)
        try ((store.operator, store.name), headOf(records, store))
        finally records.close()
      }
      .collect()
    val heads =
      try read
      catch { case NonFatal(e) => throw JobFailure.told(e) }
    heads.toSeq.groupMap(_._1)(_._2).map { case (name, parts) => name -> joined(name, parts) }
  }

  private def headOf(records: OwnRecords, store: SourceStore): PartHead = {
    val state = records.state
    val names = store.numbered.map(_.name).toSet
    val (declared, others) = state.families.partition(f => names(f.name))
    val undeclared = others.map { family =>
      family.name -> state.keyCount(family).getOrElse(state.of(family).size.toLong)
    }
    PartHead(
      records.numBuckets,
      state.families.map(f => f.descriptor -> state.times(f)),
      summed(declared.map(state.keyCount)),
      undeclared.toMap
    )
  }

  private def joined(name: Named, parts: Seq[PartHead]): StoreHead = {
    val families = parts.flatMap(_.families).groupBy(_._1.name)
    val descriptors = families.map { case (family, all) =>
      val encodings = all.map { case (d, _) =>
        FamilyEncodings.untimed(d).copy(id = 0)
      }.distinct
      if (encodings.size > 1) {
        throw new InvalidException(
          s"The partitions of operator ${name._1}, store '${name._2}', encode '$family' in different ways",
          "Let the query run for a batch, so that all are as its newest session has them."
        )
      }
      family -> encodings.head
    }
    val times = families.flatMap { case (family, all) =>
      val known = all.flatMap(_._2)
      Option.when(known.nonEmpty)(family -> known.reduce(merged(_, _)))
    }
    StoreHead(
      parts.map(_.numBuckets).max,
      descriptors,
      times,
      summed(parts.map(_.keys)),
      parts.flatMap(_.undeclared).groupMapReduce(_._1)(_._2)(_ + _)
    )
  }

  /** None where one is not known. */
  private def summed(counts: Seq[Option[Long]]): Option[Long] =
    Option.when(counts.forall(_.isDefined))(counts.flatten.sum)

  /**
   * Time buckets of keys that come to lie together. What has expired was left out where it was read, and nothing else may
   * expire before its own horizon has come to it.
   */
  private def merged(a: TimeBuckets, b: TimeBuckets): TimeBuckets = a.copy(
    newest = math.max(a.newest, b.newest),
    horizon = math.min(a.horizon, b.horizon),
    untimed = math.max(a.untimed, b.untimed)
  )
}
