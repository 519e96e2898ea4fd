package io.bucketstate.plugin.doctor

import io.bucketstate.config.MetricKey
import io.bucketstate.plugin.queries.{OperatorStores, PlacedStore, QueryView}
import io.bucketstate.plugin.status.StoreStatus

/**
 * What `bucketstate doctor` says, of a query that runs. Immutable.
 *
 * @param notes what could not be looked at, and why
 */
private[plugin] final case class Diagnosis(advice: Seq[Advice], notes: Seq[String])

private[plugin] object Doctor {

  def of(query: QueryView): Diagnosis = {
    val found = query.operators.map(operator => of(query, operator))
    Diagnosis(found.flatMap(_.advice), found.flatMap(_.notes))
  }

  private def of(query: QueryView, operator: OperatorStores): Diagnosis = {
    val about = s"operator ${operator.number} (${operator.name})"
    val evidence = new OperatorEvidence(
      query.batches.filter(b => !b.isFirst && b.operators.size > operator.number),
      operator.number
    )
    val least = Rules.all.leastBatches
    val stores = ofStores(about, operator)
    if (!operator.isOurs) {
      Diagnosis(Nil, Seq(s"$about: its state is not in bucketstate."))
    } else if (evidence.batches.size < least) {
      Diagnosis(
        stores,
        Seq(
          s"$about: ${evidence.batches.size} batches after the first say too little, $least are needed."
        )
      )
    } else if (!evidence.isOurs) Diagnosis(stores, Nil)
    else Diagnosis(Rules.all.operators.flatMap(_.advice(about, evidence.terms)) ++ stores, Nil)
  }

  private def ofStores(about: String, operator: OperatorStores): Seq[Advice] =
    for {
      rule <- Rules.all.stores
      own <-
        if (rule.byName) operator.stores.groupBy(_.status.label.name).toSeq.sortBy(_._1).map(_._2)
        else Seq(operator.stores)
      worst <- rule.worst.toSeq
      asked = own.flatMap { store =>
        val terms = termsOf(store, own)
        terms.value(worst).map((_, store.status.label, terms))
      }
      (_, label, terms) <- asked.maxByOption(_._1).toSeq
      advice <- rule.advice(s"$about, partition ${label.partition}, ${label.name}", terms)
    } yield advice

  /** What rules may ask of a store: the words of Python's `doctor/checkpoint_rules.py`. */
  private def termsOf(store: PlacedStore, all: Seq[PlacedStore]): Terms = new Terms({
    case Seq("of", name)               => figure(store.status, name)
    case Seq("median of others", name) =>
      val others = all.filter(_.status.label.partition != store.status.label.partition)
      Median.of(others.flatMap(one => figure(one.status, name)))
  })

  /** None for what a store does not tell: in how many buckets it is, and its keys where they are not counted. */
  private def figure(store: StoreStatus, name: String): Option[Double] = name match {
    case "changelogs" => Some(store.lag.toDouble)
    case "bytes read" => Some(Restart.bytesOf(store).toDouble)
    case "keys"       =>
      Option.when(store.gauges.getOrElse(MetricKey.Uncounted, 0L) == 0)(store.keys.toDouble)
    case _ => None
  }
}

private[plugin] object Median {

  /** None of nothing. */
  def of(numbers: Seq[Double]): Option[Double] = {
    val sorted = numbers.sorted
    val half = sorted.size / 2
    if (sorted.isEmpty) None
    else if (sorted.size % 2 == 1) Some(sorted(half))
    else Some((sorted(half - 1) + sorted(half)) / 2)
  }
}
