package io.bucketstate.checkpoint.records

import io.bucketstate.record.RecordOp

/** What a file, or a run, or some of them say of a key. */
sealed trait Lookup

object Lookup {

  /** Nothing: an older run may have it. */
  case object Absent extends Lookup

  /** The key was removed, whatever older runs have. */
  case object Removed extends Lookup

  final case class Found(record: Array[Byte]) extends Lookup

  /** The record's value is appended to what older runs have. */
  final case class Appended(record: Array[Byte]) extends Lookup

  private[checkpoint] def of(record: Array[Byte], op: Byte): Lookup = op match {
    case RecordOp.Remove => Removed
    case RecordOp.Merge  => Appended(record)
    case _               => Found(record)
  }

  /** What all say together, if there is nothing older. None is asked that makes no difference. */
  private[checkpoint] def combined(family: Int, newestFirst: Iterator[Lookup]): Lookup =
    newestFirst.find(_ != Absent) match {
      case Some(Appended(newest)) => appended(family, newest, newestFirst)
      case found                  => found.getOrElse(Absent)
    }

  private def appended(family: Int, newest: Array[Byte], older: Iterator[Lookup]): Lookup = {
    val stack = new MergeStack(newest, RecordOp.Merge, family)
    while (stack.isOpen && older.hasNext) older.next() match {
      case Absent           => ()
      case Removed          => stack.close()
      case Found(record)    => stack.add(record, RecordOp.Put)
      case Appended(record) => stack.add(record, RecordOp.Merge)
    }
    Found(stack.record)
  }
}
