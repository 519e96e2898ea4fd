package io.bucketstate.checkpoint.run.read

import scala.util.{Random, Using}

import org.rocksdb.{BlockBasedTableConfig, BloomFilter, ChecksumType, CompressionType, IndexType}
import org.scalatest.tags.Slow

import io.bucketstate.checkpoint.io.{
  BlockCodec,
  ByteSlice,
  Damage => FileDamage,
  NioFileStore,
  WorkFolder
}
import io.bucketstate.checkpoint.manifest.Manifests
import io.bucketstate.checkpoint.records.Lookup
import io.bucketstate.checkpoint.run.open.{ReadLimits, SharedReads}
import io.bucketstate.checkpoint.run.write.RunWriter
import io.bucketstate.checkpoint.run.{
  BucketSpan,
  LocalRuns,
  LookUp,
  Run,
  RunFile,
  RunFormat,
  VersionSpan
}
import io.bucketstate.checkpoint.sst.{
  SstBlocks,
  SstFooter,
  SstHandle,
  SstOptions,
  SstPlaces,
  SstValues
}
import io.bucketstate.error.CorruptException
import io.bucketstate.record.{Record, RecordOp}
import io.bucketstate.testkit.{TidySuite, _}

/** Files looked up in and scanned, against RocksDB's own reader and the map that was written. */
@Slow
class RunFileReaderSuite extends TidySuite {
  import Runs._

  /** Long keys that have much in common, small values and a few of hundreds of KB. */
  private def large(random: Random): Content = nothing ++ (0 until 4000).map { i =>
    val key = f"customer-${random.nextInt(1000000)}%09d/${"x" * random.nextInt(200)}"
    val size = if (i % 500 == 0) random.nextInt(400_000) else random.nextInt(300)
    val value = Seq.tabulate(size)(n => (n * (i % 7) >> 3).toByte)
    place(random.nextInt(2), random.nextInt(8), key.getBytes("UTF-8")) ->
      (if (random.nextInt(9) == 0) None else Some(value))
  }

  /** Keys that a content lacks, before, behind and between those that it has, or under another family or bucket. */
  private def strangers(places: Seq[Place], content: Content): Iterator[Place] = {
    val near = places.iterator.flatMap { case (family, bucket, key) =>
      Iterator(
        (family, bucket, key :+ 0),
        (family, bucket, key :+ 255),
        (family, bucket, key.dropRight(1)),
        (family, bucket, key.dropRight(1) ++ key.lastOption.map(b => (b + 1) & 0xff)),
        (family + 1, bucket, key),
        (family, bucket + 1, key),
        (math.max(0, family - 1), bucket, key)
      )
    }
    val ends = Iterator((0, 0, Nil), (0, 0, Seq(0)), (65535, 65535, Seq.fill(300)(255)))
    (near ++ ends).filterNot(content.contains)
  }

  /** Tag and value; nothing if the key is absent. */
  private def told(lookup: Lookup): Option[Seq[Byte]] = {
    def valueOf(record: Array[Byte]) = record.drop(Record.keyEnd(record)).toSeq
    lookup match {
      case Lookup.Absent           => None
      case Lookup.Removed          => Some(Seq(RecordOp.Remove))
      case Lookup.Found(record)    => Some(RecordOp.Put +: valueOf(record))
      case Lookup.Appended(record) => Some(RecordOp.Merge +: valueOf(record))
    }
  }

  private def asked(reader: RunFileReader, place: Place): Lookup =
    LookUp.in(reader, place._1, place._2, keyOf(place))

  /** @param every one key of so many is looked up, and its neighbours */
  private def saysTheSame(content: Content, file: RunFile, local: LocalRuns, every: Int): Unit = {
    val some = content.keysIterator.zipWithIndex.collect {
      case (p, i) if i % every == 0 => p
    }.toSeq
    val native = RocksDbFiles.read(local.using(file)(identity))._1.toMap
    assert(native.size == content.size)
    val byPages = new SharedReads().join(ReadLimits(cacheBytes = 0, maxOpenFiles = 100))
    for (reads <- Seq(SharedReads.alone(), byPages)) {
      Using.resource(RunFileReader.open(file, local, reads))(
        saysTheSame(content, _, some, native, every)
      )
      reads.cache.forgetGivenUp()
      assert(reads.cache.partBytes == 0 && reads.heapBytes == 0)
    }
  }

  private def saysTheSame(
      content: Content,
      ours: RunFileReader,
      some: Seq[Place],
      native: Map[Seq[Byte], Seq[Byte]],
      every: Int
  ): Unit = {
    def looksUp(): Unit = some.foreach { case p @ (family, bucket, _) =>
      val found = told(asked(ours, p))
      assert(found == native.get(RunFormat.keyOf(family, bucket, keyOf(p)).toSeq), p)
      assert(found.nonEmpty, p)
      assert(LookUp.mayBeIn(ours, family, bucket, keyOf(p)), p)
    }
    looksUp()
    strangers(some, content).foreach { p =>
      assert(asked(ours, p) == Lookup.Absent, p)
    }
    looksUp() // now with the filter, if there is one
    val all = drain(ours.scanAll()) == content
    assert(all)
    content.keys.map(p => BucketSpan(p._1, p._2, p._2 + every % 3)).toSeq.distinct.foreach { s =>
      val same = drain(ours.scan(s)) == within(content, s)
      assert(same, s)
    }
    assert(drain(ours.scan(BucketSpan(65535, 0, 65535))).isEmpty)
  }

  private def inStore(body: (NioFileStore, LocalRuns) => Any): Unit = TempFolder.use { folder =>
    val store = new NioFileStore(folder.resolve("store"))
    body(store, new LocalRuns(store, WorkFolder(folder.resolve("local"), temporary = true)))
    assert(LeftOvers.openFiles(folder).isEmpty)
  }

  private val written = for {
    codec <- Seq(BlockCodec.Raw, BlockCodec.Lz4, BlockCodec.ZStd, BlockCodec.SnappyRaw)
    blockBytes <- Seq(1, 300, 16 * 1024, 1000 * 1000)
  } yield (codec, blockBytes)

  for ((codec, blockBytes) <- Seeds.oneOf(2, written.indices, 8).map(written))
    test(s"every key is found with what RocksDB finds: $codec, blocks of $blockBytes") {
      val random = new Random(blockBytes.toLong)
      for (content <- Seq(Runs.random(random, 3000, 20), large(random))) inStore { (store, local) =>
        val places = content.filter(_._2.nonEmpty).keysIterator.filter(_ => random.nextInt(5) == 0)
        val run = new RunWriter(store, local, SstOptions(codec, blockBytes), Long.MaxValue)
          .write(VersionSpan(1, 9), cursor(content, places.toSet), oldest = false)
        saysTheSame(content, run.files.head, local, every = math.max(3, blockBytes / 20000))
      }
    }

  private def table: BlockBasedTableConfig =
    new BlockBasedTableConfig().setFormatVersion(6).setChecksumType(ChecksumType.kCRC32c)

  test("restarts may be as far apart as a writer likes, in the index too") {
    val content = large(new Random(1))
    val pairs = for {
      inIndex <- Seq(1, 3, 1000)
      inData <- Seq(1, 16, 1000)
    } yield (inIndex, inData)
    for ((inIndex, inData) <- Seeds.oneOf(2, pairs, 2)) inStore { (store, local) =>
      val config = table.setIndexBlockRestartInterval(inIndex).setBlockRestartInterval(inData)
      val run = ForeignSst.write(store, content, config.setBlockSize(2000))
      saysTheSame(content, run.files.head, local, every = 19)
    }
  }

  private val older = for {
    compression <- Seq(
      CompressionType.NO_COMPRESSION,
      CompressionType.LZ4_COMPRESSION,
      CompressionType.ZSTD_COMPRESSION,
      CompressionType.SNAPPY_COMPRESSION
    )
    blockBytes <- Seq(300L, 16L * 1024)
  } yield (compression, blockBytes)

  for ((compression, blockBytes) <- Seeds.oneOf(2, older, 5))
    test(s"what RocksDB wrote for older versions is read: $compression, blocks of $blockBytes") {
      val random = new Random(blockBytes)
      for (content <- Seq(Runs.random(random, 3000, 20), large(random))) inStore { (store, local) =>
        val file = ForeignSst.before(store, content, compression, blockBytes).files.head
        saysTheSame(content, file, local, every = 7)
        val reads = SharedReads.alone()
        Using.resource(RunFileReader.open(file, local, reads)) { reader =>
          val index = { LookUp.in(reader, 0, 0, Array(5)); reads.cache.partBytes }
          LookUp.in(reader, 0, 0, Array(6))
          assert(reads.cache.partBytes > index + content.size, "the filter is used")
        }
      }
    }

  for {
    parts <- Seq(100L, 1000L)
    isFilterParted <- Seq(true, false)
  } test(s"RocksDB's own parts of indexes and filters are read: $parts bytes, $isFilterParted") {
    val content = large(new Random(parts))
    inStore { (store, local) =>
      val run = Using.resource(new BloomFilter(10.0)) { bloom =>
        val config = table
          .setIndexType(IndexType.kTwoLevelIndexSearch)
          .setPartitionFilters(isFilterParted)
          .setMetadataBlockSize(parts)
          .setBlockSize(1000)
          .setFilterPolicy(bloom)
        ForeignSst.write(store, content, config)
      }
      saysTheSame(content, run.files.head, local, every = 19)
    }
  }

  test("RocksDB's own choice of checksums is read, whatever the length of a block") {
    val random = new Random(5)
    val files = for {
      blockBytes <- Seq(1L, 200L, 5000L)
      content <- Seq(Runs.random(random, 1000, 20), large(random))
    } yield (blockBytes, content)
    for {
      (kind, some) <- Seq(
        CompressionType.NO_COMPRESSION -> files,
        CompressionType.SNAPPY_COMPRESSION -> Seeds.oneOf(2, files, 2)
      )
      (blockBytes, content) <- some
    } inStore { (store, local) =>
      val config = table.setChecksumType(ChecksumType.kXXH3).setBlockSize(blockBytes)
      val run = ForeignSst.write(store, content, config, kind)
      saysTheSame(content, run.files.head, local, every = 23)
    }
  }

  test("a file of another kind is refused") {
    val content = Runs.random(new Random(2), 500, 4)
    val lz4 = CompressionType.LZ4_COMPRESSION
    val others = Seq(
      "xxHash64" -> table.setChecksumType(ChecksumType.kxxHash64) -> lz4,
      "no checksums" -> table.setChecksumType(ChecksumType.kNoChecksum) -> lz4,
      "table format 5" -> table.setFormatVersion(5) -> lz4,
      "first keys in the index" -> table.setIndexType(IndexType.kBinarySearchWithFirstKey) -> lz4,
      "another compression" -> table -> CompressionType.LZ4HC_COMPRESSION
    )
    for (((name, config), compression) <- others) inStore { (store, local) =>
      val run = ForeignSst.write(store, content, config, compression)
      val e = intercept[CorruptException] {
        Using.resource(RunFileReader.open(run.files.head, local))(r => drain(r.scanAll()))
      }
      assert(e.file.endsWith(run.files.head.name) && e.getMessage.contains("expected"), name)
    }
  }

  private lazy val golden = new Manifests(new NioFileStore(GoldenRuns.folder)).read(GoldenRuns.file)

  test("keys are looked up and merged across runs") {
    val store = new NioFileStore(GoldenRuns.folder)
    TempFolder.use { folder =>
      val local = new LocalRuns(store, WorkFolder(folder, temporary = true))
      Using.resource(new RunReaders(local)) { readers =>
        GoldenRuns.state.foreach { case (p @ (family, bucket, _), value) =>
          readers.get(new FilesByBucket(golden.runs), family, bucket, keyOf(p)) match {
            case Lookup.Found(r) => assert(r.drop(1).toSeq == keyOf(p).toSeq ++ value.get, p)
            case other           => fail(s"$p: $other")
          }
        }
        GoldenRuns.newest.foreach { case (p @ (family, bucket, _), value) =>
          val found = readers.get(new FilesByBucket(golden.runs), family, bucket, keyOf(p))
          assert((found == Lookup.Removed) == value.isEmpty, p)
        }
      }
    }
  }

  test("the golden file in parts is read, and is as this project's writer makes it") {
    val store = new NioFileStore(GoldenParts.folder)
    val file = new Manifests(store).read(GoldenParts.file).runs.head.files.head
    TempFolder.use { folder =>
      val local = new LocalRuns(store, WorkFolder(folder, temporary = true))
      saysTheSame(GoldenParts.content, file, local, every = 7)
    }
    val properties = RocksDbFiles.read(store.localPath(file.name).get)._2
    assert(properties.getIndexPartitions == 2 && properties.getTopLevelIndexSize > 0)
  }

  test("index and filter are kept for the next look-up, counted, and given up on demand") {
    val content = large(new Random(3))
    inStore { (store, local) =>
      val run = new RunWriter(store, local, SstOptions(BlockCodec.Lz4, Runs.BlockBytes), 100_000)
        .write(VersionSpan(1, 9), cursor(content), oldest = false)
      val reads = SharedReads.alone()
      def kept = reads.cache.partBytes
      Using.resource(new RunReaders(local, reads)) { readers =>
        def getAll(more: Seq[Byte], there: Boolean): Unit = content.keysIterator.foreach { p =>
          val found = readers.get(new FilesByBucket(Seq(run)), p._1, p._2, keyOf(p) ++ more)
          assert((found != Lookup.Absent) == there)
        }
        assert(readers.heapBytes == 0)
        getAll(Nil, there = true)
        val index = kept
        assert(index > 0 && index < run.bytes / 10)
        getAll(Seq(1), there = false)
        val both = kept
        assert(both >= index + content.size * 10 / 8 && both < index + content.size * 3)
        readers.shed()
        assert(readers.heapBytes < index / 4, "the lists of parts stay with open files")
        getAll(Seq(1), there = false)
        getAll(Nil, there = true)
        assert(kept == both && readers.heapBytes > both)
        readers.retain(Set.empty)
        assert(readers.heapBytes == 0)
      }
    }
  }

  test("the filter alone says which keys are not there, and is read once") {
    val content = large(new Random(4))
    inStore { (store, local) =>
      val run = new RunWriter(store, local, SstOptions(BlockCodec.Lz4, Runs.BlockBytes), 100_000)
        .write(VersionSpan(1, 9), cursor(content), oldest = false)
      Using.resource(new RunReaders(local)) { readers =>
        val files = new FilesByBucket(Seq(run))
        def mayHold(more: Seq[Byte]): Int = content.keysIterator.count { p =>
          readers.mayHold(files, p._1, p._2, keyOf(p) ++ more)
        }
        assert(mayHold(Nil) == content.size)
        val filters = readers.heapBytes
        assert(filters >= content.size * 10 / 8 && filters < content.size * 3, "and no index")
        assert(mayHold(Seq(1)) < content.size / 20)
        assert(readers.heapBytes == filters)
        readers.shed()
        assert(mayHold(Nil) == content.size && readers.heapBytes == filters)
      }
    }
  }

  test("files are read block by block, also if one is larger than what is read at once") {
    val content = nothing ++ (0 until 40).map { i =>
      val size = if (i % 10 == 3) 700_000 else 9000
      place(0, i / 4, Array(i.toByte)) -> Some(Seq.tabulate(size)(n => (n * i).toByte))
    }
    inStore { (store, local) =>
      val run =
        new RunWriter(store, local, SstOptions(BlockCodec.Raw, Runs.BlockBytes), Long.MaxValue)
          .write(VersionSpan(1, 9), cursor(content), oldest = false)
      Using.resource(RunFileReader.open(run.files.head, local)) { reader =>
        for {
          first <- 0 until 10
          last <- first until 10
        } {
          val span = BucketSpan(0, first, last)
          val same = drain(reader.scan(span)) == within(content, span)
          assert(same, span)
        }
      }
    }
  }

  test("a file that was cut off is damaged, wherever that was, also if its length is expected") {
    val file = golden.runs.last.files.minBy(_.bytes)
    val bytes = java.nio.file.Files.readAllBytes(GoldenRuns.folder.resolve(file.name))
    val place = GoldenRuns.oldest.keysIterator
      .filter(p =>
        file.buckets.exists { b =>
          b.family == p._1 && b.holds(p._2)
        }
      )
      .next()
    val lengths = bytes.indices.by(23) ++ bytes.indices.takeRight(SstFooter.Bytes + 10)
    for (length <- lengths) inStore { (store, local) =>
      store.write(file.name)(_.write(bytes, 0, length))
      val cut = Run(VersionSpan(1, 9), Seq(file.copy(bytes = length.toLong)))
      Using.resource(new RunReaders(local)) { readers =>
        val e = intercept[CorruptException] {
          readers.get(new FilesByBucket(Seq(cut)), place._1, place._2, keyOf(place))
        }
        assert(e.file.endsWith(file.name), length)
      }
    }
  }

  test("another number of entries than the manifest's is damage") {
    val file = golden.runs.head.files.head
    val local = new LocalRuns(
      new NioFileStore(GoldenRuns.folder),
      WorkFolder(GoldenRuns.folder, temporary = false)
    )
    val e = intercept[CorruptException](RunFileReader.open(file.copy(entries = 4), local))
    assert(e.getMessage.contains("expected a number of entries of 4, found 5"))
  }

  test("blocks that an index has in no order are damage, also where none lies outside") {
    val file = golden.runs.last.files.maxBy(_.bytes)
    Using.resource(new NioFileStore(GoldenRuns.folder).open(file.name)) { source =>
      val damage = new FileDamage("a test", "a run")
      val blocks = new SstBlocks(source, SstFooter.read(source, damage), damage, () => false)
      for (before <- Seq(1L, 5L, 14L, 15L, 100L)) {
        val e = intercept[CorruptException] {
          blocks.readSome(SstHandle(100, 9), SstHandle(100 - before, 9), "data block")
        }
        assert(e.getMessage.contains(s"found 9 bytes at byte ${100 - before}"), e)
      }
      assert(blocks.readSome(SstHandle(100, 9), SstHandle(114, 9), "data block").length == 28)
    }
  }

  test("a block of nonsense, whose checksum would be right, ends with one kind of exception") {
    val random = new Random(4)
    for (_ <- 1 to 20000) {
      val bytes =
        Array.fill(random.nextInt(60))(random.nextInt(1 << (1 + random.nextInt(8))).toByte)
      if (bytes.length > 8 && random.nextBoolean()) {
        java.util.Arrays.fill(bytes, bytes.length - 8, bytes.length, 0.toByte)
        bytes(bytes.length - 4) = 1
      }
      val wanted = Array.fill(random.nextInt(4))(random.nextInt(4).toByte)
      val block = new ByteSlice(bytes, 0, bytes.length)
      try {
        new SstValues(block).seek(wanted, 8)
        SstValues.byName(block)
        new SstPlaces(block).goTo(wanted)
      } catch { case _: IndexOutOfBoundsException => () }
    }
  }
}
