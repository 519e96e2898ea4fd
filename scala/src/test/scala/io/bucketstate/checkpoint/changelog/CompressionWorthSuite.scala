package io.bucketstate.checkpoint.changelog

import java.io.ByteArrayOutputStream

import scala.util.{Random, Using}

import io.bucketstate.checkpoint.io.{Attempt, BlockCodec}
import io.bucketstate.testkit.{Changes, MemoryFileStore, TidySuite, Write}

class CompressionWorthSuite extends TidySuite {
  private val random = new Random(1)

  private def tried(blocks: Seq[Int]): Seq[Int] = {
    val worth = new CompressionWorth
    blocks.indices.filter { i =>
      val tried = worth.isTried()
      if (tried) assert(worth.of(blocks(i), 100) == (if (blocks(i) <= 80) blocks(i) else 100))
      tried
    }
  }

  test("blocks that shrink are all compressed") {
    assert(tried(Seq.fill(40)(80)) == (0 until 40))
  }

  test("of blocks that do not, fewer and fewer are tried, but one in sixteen at least") {
    assert(tried(Seq.fill(80)(81)) == Seq(0, 2, 6, 14, 30, 46, 62, 78))
  }

  test("blocks that shrink again are found") {
    val found = tried(Seq.fill(30)(100) ++ Seq.fill(30)(50))
    assert(found == Seq(0, 2, 6, 14) ++ (30 until 60))
  }

  for (codec <- BlockCodec.all)
    test(s"a changelog of both kinds of blocks is read as it was written, ${codec.name}") {
      def value(random: Option[Random]) = {
        val bytes = new Array[Byte](1000)
        random.foreach(_.nextBytes(bytes))
        bytes.toSeq
      }
      val writes = (0 until 2000).map { i =>
        val noise = Option.when(i / 100 % 4 != 0)(random)
        Write(i / 100, Seq((i >> 8).toByte, i.toByte), Some(value(noise)))
      }
      Using.resource(new ChangelogWriter()) { writer =>
        val changes = Changes.set(Seq(Changes.family(0, 20, writes)))
        val encoded = writer.encode(Changes.header(1, 20, codec), changes)
        val out = new ByteArrayOutputStream
        encoded.writeTo(out)
        val store = new MemoryFileStore
        store.write(Attempt(1).changelog)(encoded.writeTo)
        val reader = ChangelogReader.readWhole(store, Attempt(1))
        assert(Changes.readAll(reader) == Changes.expected(0, writes))
        if (codec != BlockCodec.Raw) assert(reader.blocks.map(_.codec).toSet.size == 2)
        writer.encode(Changes.header(1, 20, codec), changes).writeTo(out)
        val (first, second) = out.toByteArray.splitAt(out.size / 2)
        assert(first.sameElements(second), "it begins anew with each changelog")
      }
    }
}
