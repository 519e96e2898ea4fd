package io.bucketstate.record

/**
 * What a change does to a key. The numbers are those of the files. Whoever only wants to know something of one asks here:
 * each kind answers when it is made, and no other file has to be changed for a new one.
 */
object RecordOp {

  /** The key has this value now. */
  final val Put: Byte = 1

  /** The key is gone; such a record ends with its key. */
  final val Remove: Byte = 2

  /** The value is appended to what the key has, or is all it has if the key was not there. */
  final val Merge: Byte = 3

  /** Whether there is such an operation. */
  def isKnown(op: Byte): Boolean = op >= Put && op <= Merge

  /** Whether its records have a value; else they are removals. */
  def hasValue(op: Byte): Boolean = (op: @unchecked) match {
    case Put | Merge => true
    case Remove      => false
  }

  /** Whether what it comes to depends on an older record of its key. */
  def isOpen(op: Byte): Boolean = (op: @unchecked) match {
    case Merge        => true
    case Put | Remove => false
  }

  /** Whether its record is all that its key has. */
  def isWhole(op: Byte): Boolean = hasValue(op) && !isOpen(op)
}

/** Takes one change: a record, and which [[RecordOp]] it is. */
trait RecordSink {
  def apply(record: Array[Byte], op: Byte): Unit

  /** Takes a record that is all that its key has. */
  final def put(record: Array[Byte]): Unit = apply(record, RecordOp.Put)
}
