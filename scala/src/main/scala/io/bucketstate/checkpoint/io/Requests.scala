package io.bucketstate.checkpoint.io

import java.util.concurrent.atomic.LongAdder

/**
 * Requests to an object store by kind, since they were last asked for. Those that its client makes again
 * by itself, because the first try failed, count once; so do the parts of a large file. Thread-safe.
 */
final class Requests {
  private[this] val counts = Requests.Kind.all.map(_ -> new LongAdder).toMap

  private[io] def count(kind: Requests.Kind): Unit = counts(kind).increment()

  /** Counts them from anew. */
  def drain(): Map[Requests.Kind, Long] = counts.map { case (kind, n) => kind -> n.sumThenReset() }
}

object Requests {

  /** What a request is for. */
  sealed abstract class Kind

  object Kind {
    case object Put extends Kind
    case object Get extends Kind
    case object Head extends Kind
    case object List extends Kind
    case object Delete extends Kind

    val all: Seq[Kind] = Seq(Put, Get, Head, List, Delete)
  }

  /** Never counts any. */
  val None: Requests = new Requests
}
