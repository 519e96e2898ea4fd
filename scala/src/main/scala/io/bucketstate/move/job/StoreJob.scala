package io.bucketstate.move.job

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.TaskContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.{RDD, ShuffledRDD}
import org.apache.spark.serializer.KryoSerializer
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.util.SerializableConfiguration

import io.bucketstate.checkpoint.manifest.Manifest
import io.bucketstate.error.CorruptException
import io.bucketstate.move.read.{OwnRecords, Provider}
import io.bucketstate.move.upsert.Replacing
import io.bucketstate.move.write.Place.Moved
import io.bucketstate.move.write.{
  ByPlace,
  ExportMaker,
  HdfsTarget,
  Place,
  ProviderTarget,
  RunTarget
}

/**
 * What became of one store: what was read and written, by partition.
 *
 * @param added    rows that came from elsewhere
 * @param replaced what was read, and gave way to one of them
 */
private[move] final case class StoreMoved(
    work: StoreWork,
    read: Seq[PartitionSum],
    written: Seq[WrittenPartition],
    added: RowSum,
    replaced: RowSum
) {

  /** What is in the target. */
  def kept: RowSum = read.map(_.kept).foldLeft(RowSum.Empty)(_ + _) - replaced + added

  def deleted: RowSum = read.map(_.deleted).foldLeft(RowSum.Empty)(_ + _)

  def misplaced: Long = read.map(_.misplaced).sum

  def bytes: Long = written.map(_.bytes).sum

  /** Keys that were written. */
  def writtenKeys: Long = written.map(_.keys).sum

  /** Checkpoint ids by partition, where there are some. */
  def ids: Option[Seq[String]] = Option.when(work.hasIds)(written.map(_.id.getOrElse("")))
}

/**
 * A partition that was written.
 *
 * @param keys     in it: as its manifest says, or of the rows that the writer of another provider took
 * @param manifest that makes it the store's state once it is published, where it is of this project
 * @param id       its checkpoint id
 */
private[move] final case class WrittenPartition(
    partition: Int,
    keys: Long,
    manifest: Option[Manifest],
    id: Option[String],
    bytes: Long
)

/**
 * Moves one store of one operator as one Spark job, and reads it back as another. Rows are sorted by where they go and
 * streamed into files: memory holds a row, a file's buffer, and what the source's provider needs for a partition; Spark
 * spills the rest.
 *
 * @param requireOwn throws where the target is another move's by now. Asked where files count as soon as they are there:
 *                   in the task that writes them, right before
 */
private[move] final class StoreJob(
    session: SparkSession,
    work: StoreWork,
    hadoop: Broadcast[SerializableConfiguration],
    progress: Progress,
    frame: Option[DataFrame] = None,
    requireOwn: Configuration => Unit = _ => ()
) {
  private[this] val context = session.sparkContext

  def copy(): StoreMoved = {
    val (work, hadoop, counts) = (this.work, this.hadoop, progress.counts)
    val requireOwn = this.requireOwn
    val (sums, added, replaced) = (registered, registered, registered)
    val written = sorted(rows(sums), added, replaced)
      .mapPartitionsWithIndex { (p, rows) =>
        val conf = hadoop.value.value
        Iterator.single(StoreJob.write(work, p, conf, counts.writing(rows), requireOwn))
      }
      .collect()
      .toSeq
    StoreMoved(work, readOf(sums), written.sortBy(_.partition), added.total, replaced.total)
  }

  /** Reads all, and writes nothing. */
  def readOnly(): StoreMoved = {
    val (sums, added, replaced) = (registered, registered, registered)
    val all = rows(sums)
    // Which keys rows replace, and whether they have one twice, is seen where both come together.
    (if (work.upsert.isDefined) sorted(all, added, replaced) else all).foreach(_ => ())
    StoreMoved(work, readOf(sums), Nil, added.total, replaced.total)
  }

  /** What goes into each partition of the target, by its place, with the rows that were given. */
  private def sorted(
      from: RDD[Moved],
      added: PartitionSums,
      replaced: PartitionSums
  ): RDD[Moved] = work.upsert match {
    case None        => shuffled(from)
    case Some(shape) =>
      val (work, hadoop) = (this.work, this.hadoop)
      val rows = frame.get.queryExecution.toRdd.mapPartitionsWithIndex { (p, rows) =>
        new UpsertReader(work, shape, rows, p, hadoop.value.value, added.add)
          .map(Replacing.ofRows)
      }
      shuffled(from.map(Replacing.ofState).union(rows)).mapPartitionsWithIndex { (p, all) =>
        new UpsertMerge(work, shape, all, p, replaced.add)
      }
  }

  private def shuffled(from: RDD[Moved]): RDD[Moved] =
    new ShuffledRDD[Array[Byte], Array[Byte], Array[Byte]](from, new ByPlace(work.targets))
      .setKeyOrdering(Place.ordering)
      // Byte arrays as they are; Java's own form names the classes of each.
      .setSerializer(new KryoSerializer(context.getConf))

  /** By which columns all keys may lie: see [[ColumnSearch]]. */
  def fitting(): Fitting = {
    val (work, hadoop) = (this.work, this.hadoop)
    val columns = ColumnSearch.columnsOf(work)
    // All in all ways would take too long, and the whole key is held against each anyway.
    if (columns < 2 || columns > ColumnSearch.MostColumns) ColumnSearch.untried(columns)
    else
      StoreJob
        .each(session, work.sources)
        .map(p => ColumnSearch.fitting(work, p, hadoop.value.value))
        .collect()
        .reduce(_ & _)
  }

  private def registered: PartitionSums = {
    val sums = new PartitionSums
    context.register(sums, s"rows of ${work.name}")
    sums
  }

  private def rows(sums: PartitionSums): RDD[Moved] = {
    val (work, hadoop, counts) = (this.work, this.hadoop, progress.counts)
    StoreJob.each(session, work.sources).flatMap { p =>
      val reader = StoreJob.reader(work, p, hadoop.value.value, sums.add)
      StoreJob.closing(reader)
      counts.reading(reader)
    }
  }

  private def readOf(sums: PartitionSums): Seq[PartitionSum] = work.sources.map { p =>
    sums.value.getOrElse(
      p,
      throw new IllegalStateException(s"nothing is known of partition $p of ${work.name}")
    )
  }

  /** Makes what was written the state of the target's stores. */
  def publish(moved: StoreMoved): Unit = {
    val conf = OwnRecords.configOf(work.targetConf)
    for {
      part <- moved.written
      manifest <- part.manifest
    } {
      val folder = work.store.folder(new Path(work.to), part.partition)
      RunTarget.publish(manifest, folder, work.isInPlace, conf, hadoop.value.value)
    }
  }

  /** What the target adds up to as a query would read it. Throws where a key is not where a query looks for it. */
  def readBack(moved: StoreMoved): RowSum = {
    val (back, raw) = (backOf(moved), work.isRaw)
    val (hadoop, counts) = (this.hadoop, progress.counts)
    val sums = registered
    StoreJob
      .each(session, 0 until work.targets)
      .foreach { p =>
        val reader = StoreJob.checker(back, raw, p, hadoop.value.value, sums.add)
        try
          while (reader.hasNext) {
            reader.next()
            counts.check()
          }
        finally reader.close()
      }
    val all = sums.value.values
    val misplaced = all.map(_.misplaced).sum
    if (misplaced > 0 && !work.staysPut) {
      throw new CorruptException(
        s"The target of ${work.name}",
        s"$misplaced keys do not lie in the partition of their hash",
        "This is a defect of bucketstate: please report it. Nothing was published."
      )
    }
    all.map(_.kept).foldLeft(RowSum.Empty)(_ + _)
  }

  /** The work of reading what was written. */
  private def backOf(moved: StoreMoved): StoreWork = work.copy(
    store = work.written(moved.ids),
    from = work.to,
    sourceProvider = work.targetProvider,
    had = work.targets,
    version = work.target,
    sourceConf = work.targetConf,
    deletes = None
  )
}

private object StoreJob {

  /** One task for each. */
  private def each(session: SparkSession, partitions: Seq[Int]): RDD[Int] =
    session.sparkContext.parallelize(partitions, math.max(1, partitions.size))

  private def closing(reader: AutoCloseable): Unit =
    Option(TaskContext.get()).foreach(_.addTaskCompletionListener[Unit](_ => reader.close()))

  private def reader(
      work: StoreWork,
      partition: Int,
      hadoop: Configuration,
      done: PartitionSum => Unit
  ): PartitionReader =
    if (work.isRaw) new RecordReader(work, partition, hadoop, done)
    else if (work.targetProvider == Provider.Ours) new ImportReader(work, partition, hadoop, done)
    else new ExportReader(work, partition, hadoop, done)

  /** Reads in the way in which the source's rows were added up. */
  private def checker(
      back: StoreWork,
      isRaw: Boolean,
      partition: Int,
      hadoop: Configuration,
      done: PartitionSum => Unit
  ): PartitionReader =
    if (isRaw) new RecordReader(back, partition, hadoop, done)
    else new ExportReader(back, partition, hadoop, done)

  private def write(
      work: StoreWork,
      partition: Int,
      hadoop: Configuration,
      rows: Iterator[Moved],
      requireOwn: Configuration => Unit
  ): WrittenPartition = {
    val root = new Path(work.to)
    var keys = 0L
    def counted = rows.map { row =>
      if (ExportMaker.isFirst(row._1)) keys += 1
      row
    } ++ {
      requireOwn(hadoop)
      Iterator.empty
    }
    work.targetProvider match {
      case Provider.Ours =>
        val target = new RunTarget(
          work.families,
          work.numBuckets,
          work.target,
          work.hasIds,
          OwnRecords.configOf(work.targetConf),
          hadoop
        )
        val id = work.store.id(root, partition)
        val manifest = target.write(id.toString, id.storeCheckpointLocation(), rows)
        val keys = manifest.families.flatMap(_.keyCount).sum
        WrittenPartition(partition, keys, Some(manifest), manifest.checkpointId, manifest.bytes)
      case Provider.Hdfs =>
        val folder = work.store.folder(root, partition)
        val bytes = HdfsTarget.write(folder, work.target, work.targetConf, hadoop, counted)
        WrittenPartition(partition, keys, None, None, bytes)
      case Provider.RocksDb =>
        val id = ProviderTarget.write(
          work.store,
          root,
          partition,
          work.target,
          work.targetConf,
          hadoop,
          counted
        )
        WrittenPartition(partition, keys, None, id, 0L)
    }
  }
}
