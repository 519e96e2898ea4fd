package io.bucketstate.bench

import java.util.SplittableRandom

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.{BinaryType, LongType, StringType, StructType}
import org.apache.spark.unsafe.Platform

/**
 * How the keys of a batch are drawn.
 */
sealed abstract class KeyDraw(val name: String) {

  /** A key from 0 until `keys`. */
  def next(random: SplittableRandom, keys: Int): Int
}

object KeyDraw {

  /** Each as often as any other: nothing can be kept because it will come again. */
  case object Uniform extends KeyDraw("uniform") {
    override def next(random: SplittableRandom, keys: Int): Int = random.nextInt(keys)
  }

  /** Zipf's law with exponent 1: the n-th most frequent key comes 1/n times as often as the first. */
  case object Zipf extends KeyDraw("zipf") {
    override def next(random: SplittableRandom, keys: Int): Int = {
      val rank = math.exp(random.nextDouble() * math.log(keys + 1.0)).toLong - 1
      // The frequent ones are not neighbours.
      ((math.min(rank, keys - 1L) * Scatter) % keys).toInt
    }
  }

  val all: Seq[KeyDraw] = Seq(Uniform, Zipf)

  /** A prime, so that no two ranks lead to the same key. */
  private final val Scatter = 1000000007L
}

/**
 * The rows of a run: keys (long, string of 14), values (long, 100 random bytes), 168 bytes together.
 * The same seed gives the same sequence, so every provider sees the very same updates. Rows lie in
 * two flat arrays and are read through one row that moves over them, as Spark's operators reuse theirs:
 * filling the arrays is slow and is done between the timed sections, moving the row costs nothing.
 */
final class Workload(
    val keys: Int,
    updates: Int,
    seed: Long,
    draw: KeyDraw = KeyDraw.Uniform
) {
  import Workload._

  private val capacity = math.max(updates, 1)
  private val keyBytes = new Array[Byte](capacity * KeySize)
  private val valueBytes = new Array[Byte](capacity * ValueSize)
  private val key = new UnsafeRow(2)
  private val value = new UnsafeRow(2)

  def rows: Int = capacity

  /** The random keys of a batch, the same ones whenever it is asked for. */
  def fillBatch(batch: Int): Unit = {
    val random = new SplittableRandom(seed + batch)
    var i = 0
    while (i < updates) {
      writeKey(i, draw.next(random, keys).toLong)
      writeValue(i, random)
      i += 1
    }
  }

  /** The keys from `first` on, for the preload; returns how many there are, at most `rows`. */
  def fillRange(first: Int): Int = {
    val random = new SplittableRandom(-seed - first)
    val n = math.min(capacity, keys - first)
    var i = 0
    while (i < n) {
      writeKey(i, first.toLong + i)
      writeValue(i, random)
      i += 1
    }
    n
  }

  def keyAt(i: Int): UnsafeRow = {
    key.pointTo(keyBytes, Platform.BYTE_ARRAY_OFFSET + i.toLong * KeySize, KeySize)
    key
  }

  def valueAt(i: Int): UnsafeRow = {
    value.pointTo(valueBytes, Platform.BYTE_ARRAY_OFFSET + i.toLong * ValueSize, ValueSize)
    value
  }

  /** What the counters read before each put add up to, if the store keeps every update. */
  def expectedSum(batches: Int): Long = {
    val counters = new Array[Int](keys)
    var sum = 0L
    for (batch <- 0 until batches) {
      fillBatch(batch)
      var i = 0
      while (i < updates) {
        val k = keyAt(i).getLong(0).toInt
        sum += counters(k)
        counters(k) += 1
        i += 1
      }
    }
    sum
  }

  private def writeKey(i: Int, id: Long): Unit = {
    val at = Platform.BYTE_ARRAY_OFFSET + i.toLong * KeySize
    writeHead(keyBytes, at, id, NameLength)
    var digits = id
    var d = NameLength - 1
    while (d >= 0) {
      val digit = if (d < NamePrefix.length) NamePrefix(d) else ('0' + digits % 10).toByte
      if (d >= NamePrefix.length) digits /= 10
      Platform.putByte(keyBytes, at + HeadSize + d, digit)
      d -= 1
    }
  }

  private def writeValue(i: Int, random: SplittableRandom): Unit = {
    val at = Platform.BYTE_ARRAY_OFFSET + i.toLong * ValueSize
    writeHead(valueBytes, at, 0L, PayloadLength)
    var b = 0
    while (b < PayloadLength) {
      Platform.putInt(valueBytes, at + HeadSize + b, random.nextInt())
      b += 4
    }
  }

  /** UnsafeRow's layout: null bits, the long, then offset and length of the second column. */
  private def writeHead(bytes: Array[Byte], at: Long, first: Long, length: Int): Unit = {
    Platform.putLong(bytes, at, 0L)
    Platform.putLong(bytes, at + 8, first)
    Platform.putLong(bytes, at + 16, (HeadSize.toLong << 32) | length.toLong)
  }
}

object Workload {
  val keySchema: StructType = new StructType().add("id", LongType).add("name", StringType)
  val valueSchema: StructType = new StructType().add("count", LongType).add("payload", BinaryType)

  private val HeadSize = 24
  private val NamePrefix = "key-".getBytes("US-ASCII")
  private val NameLength = 14
  private val PayloadLength = 100
  private val KeySize = HeadSize + 16
  private val ValueSize = HeadSize + 104
}
