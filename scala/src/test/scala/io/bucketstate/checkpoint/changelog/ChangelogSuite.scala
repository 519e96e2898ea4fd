package io.bucketstate.checkpoint.changelog

import java.io.ByteArrayOutputStream
import java.nio.file.{Files, Paths}

import scala.jdk.CollectionConverters._
import scala.util.{Random, Using}

import org.scalacheck.Gen
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.bucketstate.checkpoint.io.{Attempt, BlockCodec, NioFileStore}
import io.bucketstate.error.{InvalidException, MissingException}
import io.bucketstate.record.ChangeSet
import io.bucketstate.testkit.{TidySuite, _}

class ChangelogSuite extends TidySuite with ScalaCheckPropertyChecks {
  private val codecs = BlockCodec.all

  private def families(numBuckets: Int, sets: Seq[(Int, Seq[Write])]): ChangeSet =
    Changes.set(sets.map { case (id, writes) =>
      Changes.family(id, numBuckets, writes, 1000L + id)
    })

  private def bytesOf(encoded: EncodedChangelog): Array[Byte] = {
    val out = new ByteArrayOutputStream
    encoded.writeTo(out)
    out.toByteArray
  }

  private def stored(encoded: EncodedChangelog, file: Attempt): MemoryFileStore = {
    val store = new MemoryFileStore
    store.write(file.changelog)(encoded.writeTo)
    store
  }

  test("what was written is read, whole and in parts, with every codec and one reused writer") {
    Using.resource(new ChangelogWriter(blockBytes = 2000, splitBytes = 9000)) { writer =>
      forAll(Changes.changeSets, Gen.oneOf(codecs), Gen.choose(0L, 1000L)) {
        case ((buckets, sets), codec, version) =>
          val header = Changes.header(version, buckets, codec)
          val encoded = writer.encode(header, families(buckets, sets))
          val store = stored(encoded, Attempt(version))
          val expected = sets.flatMap { case (id, writes) => Changes.expected(id, writes) }
          assert(store.read(s"$version.changelog").length == encoded.length)
          assert(encoded.records == expected.size)
          val whole = ChangelogReader.readWhole(store, Attempt(version))
          val parts = ChangelogReader.open(store, Attempt(version))
          for (reader <- Seq(whole, parts)) {
            assert(reader.header == header)
            assert(Changes.readAll(reader) == expected)
            assert(reader.families == sets.map { case (id, _) =>
              ChangelogFamily(Changes.descriptor(id), Some(1000L + id))
            })
          }
          assert(ChangelogReader.readHeader(store, Attempt(version)) == header)
          checkBlocks(parts, buckets, sets)
      }
    }
  }

  private def checkBlocks(
      reader: ChangelogReader,
      buckets: Int,
      sets: Seq[(Int, Seq[Write])]
  ): Unit =
    for {
      (id, writes) <- sets
      bucket <- 0 until buckets
    } {
      val blocks = reader.blocksOf(id, bucket)
      val own = Changes.expected(id, writes.filter(_.bucket == bucket))
      if (own.nonEmpty) assert(blocks.nonEmpty)
      if (blocks.size > 1) assert(blocks.forall(b => b.firstBucket == b.lastBucket))
      val covered = writes.filter(w => blocks.exists(_.holds(w.bucket)))
      assert(blocks.map(_.records).sum == Changes.expected(id, covered).size)
    }

  test(
    "the same changes are the same in any order, with any codecs, and differ by any one of them"
  ) {
    val twice = Gen.listOfN(2, Gen.oneOf(codecs))
    forAll(Changes.changeSets, twice, Gen.long) { case ((buckets, all), codecs, seed) =>
      val random = new Random(seed)
      val sets = all.map { case (id, writes) => id -> writes.distinctBy(_.key) }
      // Each in buffers of its own, which it stays in.
      def encoded(sets: Seq[(Int, Seq[Write])], codec: BlockCodec): EncodedChangelog =
        new ChangelogWriter(blockBytes = 2000).encode(
          Changes.header(1, buckets, codec),
          families(buckets, sets)
        )
      val one = encoded(sets, codecs.head)
      val other = sets.map { case (id, writes) => id -> random.shuffle(writes) }
      assert(one.holdsSameAs(encoded(other, codecs(1))))
      val seen = other.zipWithIndex.collect { case ((_, writes), i) if writes.nonEmpty => i }
      if (seen.nonEmpty) {
        val at = seen(random.nextInt(seen.size))
        val (id, writes) = other(at)
        val n = random.nextInt(writes.size)
        val write = writes(n).copy(visible = true)
        val changed = write.value match {
          case Some(value) if value.nonEmpty && random.nextBoolean() =>
            write.copy(value =
              Some(value.updated(random.nextInt(value.size), (value.sum + 1).toByte))
            )
          case Some(_) if random.nextBoolean() => write.copy(value = None, appended = false)
          case Some(_)                         => write.copy(appended = !write.appended)
          case None                            => write.copy(value = Some(Nil))
        }
        val isOther = Changes.expected(id, Seq(changed)) != Changes.expected(id, Seq(writes(n)))
        val altered = encoded(other.updated(at, id -> writes.updated(n, changed)), codecs(1))
        assert(one.holdsSameAs(altered) != isOther)
      }
    }
  }

  test("a block read alone equals the block read with the whole file") {
    val writes =
      (0 until 20_000).map(i => Write(i % 64, text(s"key $i"), Some(text(s"value $i" * 9))))
    Using.resource(new ChangelogWriter) { writer =>
      for (codec <- codecs) {
        val encoded = writer.encode(Changes.header(5, 64, codec), families(64, Seq(0 -> writes)))
        val memory = stored(encoded, Attempt(5))
        val whole = ChangelogReader.readWhole(memory, Attempt(5))
        val store = new FaultyFileStore(memory)
        Using.resource(ChangelogReader.open(store, Attempt(5))) { parts =>
          assert(store.calls == 3, store.log)
          assert(parts.blocks == whole.blocks && parts.blocks.size > 10)
          parts.blocks.foreach { block =>
            assert(parts.readBlock(block).sameElements(whole.readBlock(block)))
          }
          assert(store.calls == 3 + parts.blocks.size)
          val sizes = parts.blocks.init.map(_.rawLength)
          assert(sizes.forall(n => n >= 64 * 1024 && n < 128 * 1024), sizes)
        }
      }
    }
  }

  test("a header alone costs one call, and an open of a small file two") {
    Using.resource(new ChangelogWriter) { writer =>
      val encoded = writer.encode(Changes.header(5, 4, BlockCodec.Lz4), families(4, Nil))
      assert(encoded.length < 200)
      val store = new FaultyFileStore(stored(encoded, Attempt(5)))
      assert(ChangelogReader.readHeader(store, Attempt(5)).commitId == Changes.CommitId)
      assert(store.log == Seq("readPrefix 5.changelog"))
      assert(ChangelogReader.open(store, Attempt(5)).blocks.isEmpty)
      assert(store.calls == 3)
    }
  }

  test("an empty batch still carries the families and their key counts") {
    Using.resource(new ChangelogWriter) { writer =>
      val sets = Seq(0 -> Nil, 1 -> Seq(Write(2, text("never there"), None, visible = false)))
      val encoded = writer.encode(Changes.header(9, 3, BlockCodec.ZStd), families(3, sets))
      val reader = ChangelogReader.readWhole(stored(encoded, Attempt(9)), Attempt(9))
      assert(encoded.records == 0 && reader.blocks.isEmpty)
      assert(reader.families.flatMap(_.keyCount) == Seq(1000, 1001))
    }
  }

  test("small buckets share blocks, a large one is a block, a huge one has several of its own") {
    Using.resource(new ChangelogWriter(blockBytes = 1000, splitBytes = 3000)) { writer =>
      def of(bucket: Int, count: Int) =
        (0 until count).map(i => Write(bucket, text(s"$bucket/$i"), Some(Seq.fill(100)(i.toByte))))
      val writes = of(0, 2) ++ of(2, 3) ++ of(3, 15) ++ of(4, 1) ++ of(5, 70) ++ of(6, 1)
      val encoded =
        writer.encode(Changes.header(1, 8, BlockCodec.Lz4), families(8, Seq(0 -> writes)))
      val reader = ChangelogReader.readWhole(stored(encoded, Attempt(1)), Attempt(1))
      val spans = reader.blocks.map(b => (b.firstBucket, b.lastBucket))
      assert(spans.distinct == Seq((0, 2), (3, 3), (4, 4), (5, 5), (6, 6)))
      assert(spans.count(_ == ((5, 5))) == 3)
      assert(reader.blocksOf(0, 7).isEmpty && reader.blocksOf(1, 0).isEmpty)
      assert(Changes.readAll(reader) == Changes.expected(0, writes))
    }
  }

  test("a record larger than every buffer, and a batch larger than one chunk") {
    val random = new java.util.Random(3)
    val large = new Array[Byte](3_000_000)
    random.nextBytes(large)
    val writes = Seq(Write(0, text("large"), Some(large.toSeq)), Write(0, text("small"), Some(Nil)))
    Using.resource(new ChangelogWriter(blockBytes = 1000, splitBytes = 100_000)) { writer =>
      for (codec <- codecs) {
        val header = Changes.header(1, 1, codec)
        val encoded = writer.encode(header, families(1, Seq(0 -> writes)))
        val reader = ChangelogReader.open(stored(encoded, Attempt(1)), Attempt(1))
        assert(Changes.readAll(reader) == Changes.expected(0, writes))
      }
    }
  }

  test("the same changes make the same bytes, however the writer was used before") {
    val writes = (0 until 3000).map(i => Write(i % 5, text(s"key $i"), Some(text("v" * (i % 50)))))
    val header = Changes.header(1, 5, BlockCodec.ZStd)
    def fresh() = Using.resource(new ChangelogWriter)(w =>
      bytesOf(w.encode(header, families(5, Seq(0 -> writes))))
    )
    Using.resource(new ChangelogWriter) { writer =>
      writer.encode(header.copy(codec = BlockCodec.Lz4), families(5, Seq(3 -> writes.take(1000))))
      val reused = bytesOf(writer.encode(header, families(5, Seq(0 -> writes))))
      assert(reused.sameElements(fresh()))
      writer.close()
      val reopened = bytesOf(writer.encode(header, families(5, Seq(0 -> writes))))
      assert(reopened.sameElements(fresh()))
    }
  }

  test("what can never be written is refused") {
    Using.resource(new ChangelogWriter) { writer =>
      val long = Changes.header(1, 1, BlockCodec.Lz4).copy(hashFunction = "x" * 600)
      assertThrows[InvalidException](writer.encode(long, Changes.set(Nil)))
      val buckets = Changes.header(1, 2, BlockCodec.Lz4)
      assertThrows[InvalidException](writer.encode(buckets, families(3, Seq(0 -> Nil))))
    }
  }

  test("a missing changelog is missing, not damaged") {
    val store = new MemoryFileStore
    assertThrows[MissingException](ChangelogReader.open(store, Attempt(1)))
    assertThrows[MissingException](ChangelogReader.readWhole(store, Attempt(1)))
    assertThrows[MissingException](ChangelogReader.readHeader(store, Attempt(1)))
  }

  test("the golden file of format version 1 is still readable") {
    Using.resource(new NioFileStore(GoldenChangelog.folder)) { store =>
      import GoldenChangelog.file
      val whole = ChangelogReader.readWhole(store, file)
      val parts = ChangelogReader.open(store, file)
      assert(ChangelogReader.readHeader(store, file) == GoldenChangelog.header)
      for (reader <- Seq(whole, parts)) {
        assert(reader.header == GoldenChangelog.header)
        val counts = reader.families.map(f => f.descriptor.id -> f.keyCount.get).toMap
        assert(counts == GoldenChangelog.keyCounts)
        assert(reader.families.map(_.descriptor) == GoldenChangelog.families.map(_.descriptor))
        assert(reader.nextFamily == GoldenChangelog.nextFamily)
        assert(Changes.readAll(reader) == GoldenChangelog.expected)
        assert(reader.blocks.map(_.codec).distinct == Seq(BlockCodec.Lz4, BlockCodec.Raw))
      }
      val text = new String(store.read(s"${file.changelog}.txt"), "UTF-8")
      assert(text.linesIterator.toSeq == GoldenChangelog.lines(GoldenChangelog.expected))
    }
  }

  test("the example in docs/format.md is what is written") {
    val writes = Seq(Write(0, text("a"), Some(text("b"))), Write(1, text("c"), None))
    val set = Changes.set(Seq(Changes.family(0, 2, writes, 1)))
    val bytes = Using.resource(new ChangelogWriter) { writer =>
      bytesOf(writer.encode(Changes.header(7, 2, BlockCodec.Lz4), set))
    }
    val line = "    ([0-9a-f]{4})  ((?:[0-9a-f]{2} )+).*".r
    val documented = Files.readAllLines(Paths.get("docs/format.md")).asScala.collect {
      case line(at, hex) => Integer.parseInt(at, 16) -> hex.trim.split(' ').toSeq
    }
    val starts = documented.scanLeft(0)(_ + _._2.size)
    assert(documented.map(_._1) == starts.init)
    assert(documented.flatMap(_._2).toSeq == bytes.toSeq.map(b => f"$b%02x"))
  }

  private def text(s: String): Seq[Byte] = s.getBytes("UTF-8").toSeq
}
