package io.bucketstate.checkpoint.io

import java.util.Random

import io.bucketstate.error.InvalidException
import io.bucketstate.testkit.TidySuite

class BlockCodecSuite extends TidySuite {
  for (codec <- BlockCodec.all) test(s"$codec gives back what it was given, of any kind and size") {
    val random = new Random(1)
    val compressor = codec.newCompressor()
    try
      for {
        size <- Seq(1, 2, 100, 65_535, 65_536, 200_000, 1_000_000)
        spread <- Seq(1, 3, 256)
      } {
        val source = Array.fill(size + 20)(random.nextInt(spread).toByte)
        val target = new Array[Byte](compressor.bound(size) + 7)
        val length = compressor.compress(source, 11, size, target, 7)
        val raw = new Array[Byte](size + 5)
        assert(codec.decompress(target, 7, length, raw, size) == size)
        assert(raw.take(size).sameElements(source.slice(11, 11 + size)))
      }
    finally compressor.close()
  }

  test("ids and names are part of the format and never change") {
    val all = BlockCodec.all.map(c => (c.id.toInt, c.name))
    assert(all == Seq(0 -> "none", 1 -> "lz4", 2 -> "zstd", 3 -> "snappy", 4 -> "lzf"))
    assert(BlockCodec.all.forall(c => BlockCodec.forId(c.id.toInt).contains(c)))
    assert(BlockCodec.forId(5).isEmpty && BlockCodec.forId(-1).isEmpty)
  }

  test("a codec is named as in Spark") {
    assert(BlockCodec.forName("LZ4") == BlockCodec.Lz4)
    assert(BlockCodec.forName("org.apache.spark.io.ZStdCompressionCodec") == BlockCodec.ZStd)
    val e = intercept[InvalidException](BlockCodec.forName("brotli"))
    Seq(BlockCodec.Setting, "'brotli'", "lz4, lzf, snappy, zstd").foreach { part =>
      assert(e.getMessage.contains(part))
    }
    assertThrows[InvalidException](BlockCodec.forName("none"))
  }
}
