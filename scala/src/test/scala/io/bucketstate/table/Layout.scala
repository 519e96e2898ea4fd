package io.bucketstate.table

import java.nio.{ByteBuffer, ByteOrder}

import scala.util.Random

import io.bucketstate.record.{BucketKey, Scans}
import io.bucketstate.table.scan.RecordScan
import io.bucketstate.testkit.CollidingKeys

/** Some of a family's records: how to get them, and which they are. */
private[table] final class Part(
    val records: (FamilyState, Long) => RecordScan,
    val holds: String => Boolean,
    val isOrdered: Boolean
)

/** What keys look like, and how they are scanned. */
private[table] sealed abstract class Layout(val scans: Scans, val bucketKey: BucketKey) {
  def key(n: Int): String

  def part(someKey: () => String, random: Random): Part

  protected val whole: Part = new Part(_.records(_), _ => true, isOrdered = false)
}

private[table] object Layout {
  case object Nothing extends Layout(Scans.Nothing, BucketKey.Whole) {
    override def key(n: Int): String = s"key-$n"
    override def part(someKey: () => String, random: Random): Part = whole
  }

  /** All keys have one hash, as far as buckets look at it. */
  case object Colliding extends Layout(Scans.Nothing, BucketKey.Whole) {
    private val texts = CollidingKeys.texts("", 77).take(300).toIndexedSeq
    override def key(n: Int): String = texts(n)
    override def part(someKey: () => String, random: Random): Part = whole
  }

  sealed abstract class Ranged extends Layout(Scans.Ranges, BucketKey.Whole) {

    /** Characters that are not asked for where a key is to be a prefix of others. */
    protected def dropped(random: Random): Int

    override def part(someKey: () => String, random: Random): Part = random.nextInt(4) match {
      case 0 => whole
      case 1 =>
        val prefix = someKey().dropRight(dropped(random))
        new Part(_.prefixed(prefix.getBytes, _), _.startsWith(prefix), isOrdered = true)
      case _ =>
        val (from, until) = (bound(someKey, random), bound(someKey, random))
        new Part(
          _.ranged(from.map(_.getBytes).orNull, until.map(_.getBytes).orNull, _),
          key => from.forall(_ <= key) && until.forall(key < _),
          isOrdered = true
        )
    }

    private def bound(someKey: () => String, random: Random): Option[String] =
      Option.when(random.nextInt(3) > 0)(someKey())
  }

  case object Ranges extends Ranged {
    override def key(n: Int): String = s"key-$n"
    override protected def dropped(random: Random): Int = random.nextInt(3)
  }

  case object CollidingRanges extends Ranged {
    private val texts =
      (0 until 10).map(n => CollidingKeys.texts(s"range-$n-", 77).take(30).toIndexedSeq)
    override def key(n: Int): String = texts(n % 10)(n / 10)
    override protected def dropped(random: Random): Int = 6 + random.nextInt(4)
  }

  /** A length, as Spark's prefix encoder has it in front, a prefix so long, and the rest. */
  sealed abstract class Prefixed(length: Int)
      extends Layout(Scans.Prefixes, BucketKey.LengthPrefixed) {
    protected val encodedLength: String = ByteBuffer
      .allocate(4)
      .order(ByteOrder.nativeOrder)
      .putInt(length)
      .array
      .map(_.toChar)
      .mkString

    override def part(someKey: () => String, random: Random): Part =
      if (random.nextInt(4) == 0) whole
      else {
        val prefix = someKey().take(encodedLength.length + length)
        new Part(_.prefixed(prefix.getBytes, _), _.startsWith(prefix), isOrdered = false)
      }
  }

  case object Prefixes extends Prefixed(5) {
    override def key(n: Int): String = s"${encodedLength}pre-${n % 7}:$n"
  }

  /** All prefixes have one hash, and all keys. */
  case object CollidingPrefixes extends Prefixed(12) {
    private val texts = CollidingKeys
      .texts(s"${encodedLength}pre-", 77)
      .take(60)
      .map(CollidingKeys.texts(_, 77).take(5).toIndexedSeq)
      .toIndexedSeq
    override def key(n: Int): String = texts(n % 60)(n / 60)
  }
}
