package io.bucketstate.plugin.pages

import scala.xml.{Node, NodeSeq}

import io.bucketstate.config.MetricKey
import io.bucketstate.plugin.queries.{Batch, OperatorBatch, OperatorStores, PlacedStore, QueryView}

/** One operator of a query: heat maps over its partitions, its stores, and what each version wrote. */
private[pages] object OperatorPart {

  def of(query: QueryView, operator: OperatorStores): NodeSeq = {
    val title = s"Operator ${operator.number}: ${operator.name}"
    <h4>{title}</h4> ++ <p>{figures(operator)}</p> ++ maps(operator) ++ stores(operator) ++
      versions(query, operator)
  }

  /** What Spark reports of the operator, whatever its provider is. */
  private def figures(operator: OperatorStores): String = operator.last match {
    case None       => "No batch of it was reported yet."
    case Some(last) =>
      s"After the last batch: ${Shown.count(last("numRowsTotal"))} rows, " +
        s"${Shown.bytes(last("memoryUsedBytes"))} in memory; it updated ${Shown
            .count(last("numRowsUpdated"))} and removed ${Shown.count(last("numRowsRemoved"))}, and committed in " +
        s"${Shown.count(last("commitTimeMs"))} ms over all tasks." +
        (if (operator.isOurs) "" else " Its provider tells no more than that.")
  }

  private def maps(operator: OperatorStores): NodeSeq =
    if (operator.stores.isEmpty) NodeSeq.Empty
    else {
      val changed = operator.stores.map(_.status.last.changed).sum.toDouble
      Seq(
        HeatMap("Keys", sums(operator)(_.status.keys), whole),
        HeatMap("Bytes in memory", sums(operator)(_.status.memoryBytes), bytes),
        HeatMap("Bytes of the newest snapshot", sums(operator)(_.status.snapshotBytes), bytes),
        HeatMap(
          "Share of the last batch's changes",
          sums(operator)(_.status.last.changed),
          Shown.share(_, changed)
        ),
        HeatMap("Snapshot lag in versions", highest(operator)(_.status.lag), whole),
        HeatMap(
          "Time of the last commit",
          highest(operator)(_.status.last.nanos),
          nanos => Shown.millis(nanos.toLong)
        )
      ).map(_.node)
    }

  private def whole(value: Double): String = Shown.count(value.toLong)

  private def bytes(value: Double): String = Shown.bytes(value.toLong)

  private def sums(operator: OperatorStores)(figure: PlacedStore => Long): Seq[(Int, Double)] =
    byPartition(operator)(_.map(figure).sum)

  private def highest(operator: OperatorStores)(figure: PlacedStore => Long): Seq[(Int, Double)] =
    byPartition(operator)(_.map(figure).max)

  private def byPartition(
      operator: OperatorStores
  )(figure: Seq[PlacedStore] => Long): Seq[(Int, Double)] =
    operator.stores
      .groupBy(_.status.label.partition)
      .map { case (partition, stores) => partition -> figure(stores).toDouble }
      .toSeq
      .sortBy(_._1)

  private def stores(operator: OperatorStores): NodeSeq =
    if (operator.stores.isEmpty) NodeSeq.Empty
    else {
      val largest = operator.stores.sortBy(-_.status.keys).take(MostStores).toSet
      val shown = operator.stores.filter(largest)
      val which =
        if (shown.size == operator.stores.size) s"All ${Shown.several(shown.size, "store")}"
        else s"The ${shown.size} of ${Shown.several(operator.stores.size, "store")} with most keys"
      val changed = operator.stores.map(_.status.last.changed).sum.toDouble
      more(which, Table.of(which, storeColumns(changed), shown))
    }

  private def storeColumns(changed: Double): Seq[Column[PlacedStore]] = Seq(
    Column.number("Partition")(_.status.label.partition.toString),
    Column.text("Store")(_.status.label.name),
    Column.text("Executor")(_.executor),
    Column.number("Version")(one => Shown.count(one.status.version)),
    Column.number("Keys")(one => Shown.count(one.status.keys)),
    Column.number("In memory")(one => Shown.bytes(one.status.memoryBytes)),
    Column.number("Newest snapshot")(one => Shown.bytes(one.status.snapshotBytes)),
    Column.number("Snapshot lag")(one => Shown.count(one.status.lag)),
    Column.number("Changed last")(one => Shown.count(one.status.last.changed)),
    Column.number("Share of the batch")(one =>
      Shown.share(one.status.last.changed.toDouble, changed)
    ),
    Column.number("Last commit")(one => Shown.millis(one.status.last.nanos))
  )

  private def versions(query: QueryView, operator: OperatorStores): NodeSeq = {
    val rows = query.batches.reverse
      .flatMap(batch => batch.operators.lift(operator.number).map(Row(batch, _)))
      .take(MostVersions)
    if (rows.isEmpty) NodeSeq.Empty
    else {
      val title = s"Files and bytes by version, the newest ${rows.size}"
      more(title, Table.of(title, if (operator.isOurs) ours else others, rows))
    }
  }

  private final case class Row(batch: Batch, operator: OperatorBatch) {
    def count(name: String): String = Shown.count(operator(name))
    def bytes(key: MetricKey): String = Shown.bytes(operator(key.name))
  }

  private val others: Seq[Column[Row]] = Seq(
    Column.number("Batch")(row => Shown.count(row.batch.id)),
    Column.number("Rows")(_.count("numRowsTotal")),
    Column.number("Updated")(_.count("numRowsUpdated")),
    Column.number("Removed")(_.count("numRowsRemoved")),
    Column.number("Commits, ms")(_.count("commitTimeMs"))
  )

  /** A version is the batch's number and one; each store writes a changelog of it. */
  private val ours: Seq[Column[Row]] =
    Column
      .number[Row]("Version")(row => Shown.count(row.batch.id + 1)) +: (others ++ Seq[Column[Row]](
      Column.number("Changed keys")(_.count(MetricKey.ChangedKeys.name)),
      Column.number("Changelogs")(_.count("numStateStoreInstances")),
      Column.number("Their bytes")(_.bytes(MetricKey.ChangelogBytes)),
      Column.number("Snapshots")(_.count(MetricKey.Snapshots.name)),
      Column.number("Bytes of runs")(_.bytes(MetricKey.RunBytes)),
      Column.number("Of them merged")(_.bytes(MetricKey.CompactionBytes))
    ))

  private def more(title: String, table: Node): Node =
    <details class="bucketstate-more"><summary>{title}</summary>
      <div class="bucketstate-wide">{table}</div></details>

  private final val MostStores = 500
  private final val MostVersions = 100
}
