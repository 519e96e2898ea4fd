package io.bucketstate.record

/** What a change does to a key. The numbers are those of the files. */
object RecordOp {

  /** The key has this value now. */
  final val Put: Byte = 1

  /** The key is gone; such a record ends with its key. */
  final val Remove: Byte = 2

  /** The value is appended to what the key has, or is all it has if the key was not there. */
  final val Merge: Byte = 3
}

/** Takes one change: a record, and which [[RecordOp]] it is. */
trait RecordSink {
  def apply(record: Array[Byte], op: Byte): Unit
}
