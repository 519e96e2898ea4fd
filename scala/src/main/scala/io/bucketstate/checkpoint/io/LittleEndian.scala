package io.bucketstate.checkpoint.io

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.{ByteBuffer, ByteOrder}
import java.util.zip.CRC32C
import java.util.{Arrays, UUID}

/** Part of an array, not copied. */
private[checkpoint] final class ByteSlice(
    val array: Array[Byte],
    val offset: Int,
    val length: Int
) {
  def slice(from: Int, count: Int): ByteSlice = new ByteSlice(array, offset + from, count)

  def crc: Int = LittleEndian.crc(array, offset, length)
}

private[checkpoint] object LittleEndian {
  def crc(array: Array[Byte], offset: Int, length: Int): Int = {
    val crc = new CRC32C
    crc.update(array, offset, length)
    crc.getValue.toInt
  }

  def putInt(target: Array[Byte], at: Int, n: Int): Unit = {
    target(at) = n.toByte
    target(at + 1) = (n >>> 8).toByte
    target(at + 2) = (n >>> 16).toByte
    target(at + 3) = (n >>> 24).toByte
  }

  /** A growing buffer for the small parts of a file. */
  final class Writer {
    private var buffer = ByteBuffer.allocate(512).order(ByteOrder.LITTLE_ENDIAN)

    def length: Int = buffer.position()
    def array: Array[Byte] = buffer.array

    def reset(): Unit = {
      buffer.clear()
      ()
    }

    def u8(n: Int): Writer = { room(1).put(n.toByte); this }
    def u16(n: Int): Writer = { room(2).putShort(n.toShort); this }
    def u32(n: Int): Writer = { room(4).putInt(n); this }
    def u64(n: Long): Writer = { room(8).putLong(n); this }
    def bytes(b: Array[Byte]): Writer = { room(b.length).put(b); this }

    /** In the order in which a UUID is printed. */
    def uuid(id: UUID): Writer = u64(java.lang.Long.reverseBytes(id.getMostSignificantBits))
      .u64(java.lang.Long.reverseBytes(id.getLeastSignificantBits))

    def string(s: String): Writer = {
      val encoded = s.getBytes(UTF_8)
      require(encoded.length <= 0xffff, s"a string of ${encoded.length} bytes")
      u16(encoded.length).bytes(encoded)
    }

    def crcSoFar: Int = crc(array, 0, length)

    private def room(n: Int): ByteBuffer = {
      if (buffer.remaining < n) {
        val size = math.max(buffer.capacity * 2, Math.addExact(length, n))
        val grown = ByteBuffer.wrap(Arrays.copyOf(array, size)).order(ByteOrder.LITTLE_ENDIAN)
        grown.position(length)
        buffer = grown
      }
      buffer
    }
  }

  /** Reads what [[Writer]] wrote; running over the end throws `BufferUnderflowException`. */
  final class Reader(bytes: ByteSlice) {
    private val buffer =
      ByteBuffer.wrap(bytes.array, bytes.offset, bytes.length).order(ByteOrder.LITTLE_ENDIAN)

    def remaining: Int = buffer.remaining
    def u8(): Int = buffer.get() & 0xff
    def u16(): Int = buffer.getShort() & 0xffff
    def u64(): Long = buffer.getLong()
    def crc(): Int = buffer.getInt()

    /** A number that fits an Int. */
    def u32(): Int = {
      val n = buffer.getInt()
      require(n >= 0, s"a number of ${n & 0xffffffffL}")
      n
    }

    def bytes(count: Int): Array[Byte] = {
      val out = new Array[Byte](count)
      buffer.get(out)
      out
    }

    def uuid(): UUID =
      new UUID(java.lang.Long.reverseBytes(u64()), java.lang.Long.reverseBytes(u64()))

    def string(): String = new String(bytes(u16()), UTF_8)
  }
}
