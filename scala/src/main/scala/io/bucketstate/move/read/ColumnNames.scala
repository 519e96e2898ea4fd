package io.bucketstate.move.read

/** Names of columns of a state, which Spark does not keep apart. */
private[bucketstate] object ColumnNames {

  /** The names, of which the second `sum` becomes `sum_2`, as scans have them. */
  def unique(names: Seq[String]): Seq[String] =
    names.foldLeft(Seq.empty[String]) { (found, name) =>
      val candidates = name +: LazyList.from(2).map(n => s"${name}_$n")
      found :+ candidates.find(!found.contains(_)).get
    }
}
