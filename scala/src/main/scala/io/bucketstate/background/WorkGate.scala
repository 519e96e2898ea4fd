package io.bucketstate.background

/** What long work passes on its way, and may have to wait at. For one thread. */
trait WorkGate {

  /** The work begins, or more of it: it goes over about so many records, rather fewer. */
  def begin(records: Long): Unit

  /** One record more. */
  def pass(): Unit
}

object WorkGate {

  /** Lets everything pass. */
  object Open extends WorkGate {
    def begin(records: Long): Unit = ()
    def pass(): Unit = ()
  }
}
