package io.bucketstate.s3

import java.io.IOException
import java.nio.file.Path
import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicInteger

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.s3a.S3AFileSystem
import org.apache.hadoop.fs.{FileSystem, Path => HadoopPath}
import org.scalatest.BeforeAndAfterAll

import io.bucketstate.checkpoint.io.{FileStore, FileStores}
import io.bucketstate.config.ConfigKey
import io.bucketstate.error.{CorruptException, UnavailableException}
import io.bucketstate.testkit.{FileStoreContract, StoreKind}

/** The guarantees of a file store, on S3A, and what they cost. */
class S3FileStoreSuite extends FileStoreContract with BeforeAndAfterAll {
  private lazy val bucket = new Bucket
  private lazy val conf = {
    val made = new Configuration
    bucket.configure(made)
    made
  }

  override protected def afterAll(): Unit = bucket.close()

  private def storeAt(location: String): FileStore =
    FileStores.forFolder(new HadoopPath(location), conf, Set("s3a"))

  private val kind = StoreKind(
    "s3a",
    (folder: Path) => storeAt(new HadoopPath("s3a", Emulator.Bucket, folder.toString).toString),
    refusesToReplace = true
  )

  contract(kind, kind)

  /** What was asked of the server meanwhile. */
  private def asked(body: => Any): Seq[String] = {
    bucket.proxy.drain()
    body
    bucket.proxy.drain().map(_.kind)
  }

  private def fresh: FileStore = storeAt(bucket.newLocation())

  /** The first requests of a kind go wrong, so many of them. */
  private def first(count: Int, kind: String, trouble: Trouble): Seen => Option[Trouble] = {
    val left = new AtomicInteger(count)
    seen => Option.when(seen.kind == kind && left.getAndDecrement() > 0)(trouble)
  }

  test("each call is one request") {
    val store = fresh
    store.createFolder()
    assert(asked(store.createFolder()).isEmpty)
    assert(asked(store.write("1.changelog")(_.write(bytes(10_000)))) == Seq("PUT"))
    assert(asked(store.write("1.changelog")(_.write(bytes(20_000)))) == Seq("PUT"))
    assert(asked(store.writeNew("2.changelog")(_.write(bytes(20_000)))) == Seq("PUT"))
    assert(asked(store.writeNew("2.changelog")(_.write(bytes(20_000)))) == Seq("PUT"))
    assert(asked(store.readPrefix("1.changelog", 512)) == Seq("GET"))
    assert(asked(store.read("1.changelog", Some(20_000L))) == Seq("GET"))
    assert(asked(store.read("1.changelog")) == Seq("GET"))
    assert(asked(store.open("1.changelog").read(5L, 100)) == Seq("GET"))
    store.write("runs/a.sst")(_.write(bytes(3_000_000)))
    val ranges = asked {
      val file = store.open("runs/a.sst", Some(3_000_000L))
      file.read(100_000L, 1000)
      file.read(2_000_000L, 1000)
      file.close()
    }
    assert(ranges == Seq("GET", "GET"))
    val inOrder = asked {
      val file = store.open("runs/a.sst", Some(3_000_000L), inOrder = true)
      (0 until 3).foreach(n => file.read(n * 1_000_000L, 1_000_000))
      file.close()
    }
    assert(inOrder == Seq("GET"))
    assert(asked(store.list()) == Seq("LIST"))
    assert(asked(store.deleteAll(Seq("1.changelog", "2.changelog", "runs/a.sst"))) == Seq("DELETE"))
    assert(asked(store.delete("1.changelog")) == Seq("DELETE"))
  }

  test("what it counts is what was asked of the server") {
    val store = fresh
    val kinds = asked {
      store.write("1.changelog")(_.write(bytes(200_000)))
      store.read("1.changelog", Some(200_000L))
      store.open("1.changelog").close()
      store.list()
      store.delete("1.changelog")
    }
    val counted = store.requests.drain().map { case (kind, n) => kind.toString.toUpperCase -> n }
    assert(kinds.groupBy(identity).map { case (k, all) => k -> all.size.toLong } == counted)
    assert(store.requests.drain().values.sum == 0)
  }

  test("another scheme that is S3A's takes the same way, and reads as s3a: does") {
    val named = new Configuration(conf)
    named.set("fs.s3.impl", classOf[S3AFileSystem].getName)
    val location = bucket.newLocation()
    val schemes = ConfigKey.ObjectStoreSchemes.default.split(',').toSet
    val store =
      FileStores.forFolder(new HadoopPath(location.replaceFirst("^s3a:", "s3:")), named, schemes)
    assert(asked(store.write("runs/a.sst")(_.write(bytes(3_000_000)))) == Seq("PUT"))
    // S3A's stream by default would ask for the length.
    val ranges = asked {
      val file = store.open("runs/a.sst", Some(3_000_000L))
      file.read(2_000_000L, 1000)
      file.close()
    }
    assert(ranges == Seq("GET"))
    assert(storeAt(location).read("runs/a.sst", Some(3_000_000L)).sameElements(bytes(3_000_000)))
    assert(asked(store.deleteAll(Seq("runs/a.sst"))) == Seq("DELETE"))
    assert(storeAt(location).list("runs").isEmpty)
  }

  test("a large file goes up in parts, and a failed one leaves none") {
    val location = bucket.newLocation()
    val store = storeAt(location)
    val content = bytes(12_000_000)
    // One to begin, three parts, one to end.
    assert(asked(store.write("runs/a.sst")(_.write(content))) == Seq.fill(5)("PART"))
    assert(store.read("runs/a.sst", Some(12_000_000L)).sameElements(content))
    assertThrows[UnavailableException] {
      store.write("runs/b.sst") { out =>
        out.write(content)
        throw new IOException("disk on fire")
      }
    }
    assert(!store.exists("runs/b.sst"))
    val system = FileSystem.newInstance(new HadoopPath(location).toUri, conf)
    // It aborts what it finds.
    try assert(uploadsBelow(system, location) == 0)
    finally system.close()
  }

  private def uploadsBelow(system: FileSystem, location: String): Long =
    system
      .asInstanceOf[S3AFileSystem]
      .getS3AInternals
      .abortMultipartUploads(new HadoopPath(location))

  test("throttling and errors of the server are waited out") {
    val store = fresh
    for (trouble <- Seq(Trouble.Refused(503, "SlowDown"), Trouble.Refused(500, "InternalError")))
      for (
        (kind, call) <- Seq[(String, () => Any)](
          "PUT" -> (() => store.write("1.changelog")(_.write(bytes(1000)))),
          "GET" -> (() => assert(store.read("1.changelog").sameElements(bytes(1000)))),
          "LIST" -> (() => assert(store.list().size == 1)),
          "DELETE" -> (() => store.delete("other"))
        )
      )
        withClue(s"$trouble of $kind: ") {
          bucket.proxy.during(first(2, kind, trouble))(call())
        }
  }

  test("a server that stays away fails the call, which has done nothing") {
    val store = fresh
    store.write("1.changelog")(_.write(bytes(1000)))
    val never = (_: Seen) => Some(Trouble.Refused(503, "SlowDown"))
    bucket.proxy.during(never) {
      assertThrows[UnavailableException](store.write("1.changelog")(_.write(bytes(10, 1))))
      assertThrows[UnavailableException](store.writeNew("2.changelog")(_.write(bytes(10, 1))))
      assertThrows[UnavailableException](store.read("1.changelog"))
      assertThrows[UnavailableException](store.list())
      assert(store.deleteAll(Seq("1.changelog")).map(_._1) == Seq("1.changelog"))
    }
    assert(store.read("1.changelog").sameElements(bytes(1000)))
    assert(store.list().map(_.name) == Seq("1.changelog"))
  }

  test("connections that are cut before and in the middle of an answer are made again") {
    val store = fresh
    bucket.proxy.during(first(1, "PUT", Trouble.Cut)) {
      store.write("1.changelog")(_.write(bytes(300_000)))
    }
    for (trouble <- Seq(Trouble.Cut, Trouble.CutsAnswer(0), Trouble.CutsAnswer(100_000)))
      bucket.proxy.during(first(1, "GET", trouble)) {
        // It may be told instead that the file cannot be read now, but never that it is another one.
        try assert(store.read("1.changelog", Some(300_000L)).sameElements(bytes(300_000)))
        catch { case _: UnavailableException => () }
        try {
          val file = store.open("1.changelog", Some(300_000L))
          assert(file.read(100_000L, 150_000).sameElements(bytes(300_000).slice(100_000, 250_000)))
        } catch { case e: CorruptException => fail(s"$trouble was taken for damage", e) }
      }
  }

  test("a slow answer is waited for") {
    val store = fresh
    store.write("1.changelog")(_.write(bytes(1000)))
    val (asking, released) = (new CountDownLatch(1), new CountDownLatch(1))
    val waits = Trouble.Waits { () =>
      asking.countDown()
      released.await()
    }
    bucket.proxy.during(first(1, "GET", waits)) {
      @volatile var read: Array[Byte] = null
      val reader = new Thread(() => read = store.read("1.changelog"))
      reader.start()
      asking.await()
      assert(read == null)
      released.countDown()
      reader.join()
      assert(read.sameElements(bytes(1000)))
    }
  }

  test(
    "a write whose answer got lost is there, whole; one that is to be new is refused as its own"
  ) {
    val store = fresh
    bucket.proxy.during(first(1, "PUT", Trouble.LosesAnswer)) {
      store.write("1.changelog")(_.write(bytes(1000)))
    }
    assert(store.read("1.changelog").sameElements(bytes(1000)))
    val wasNew = bucket.proxy.during(first(1, "PUT", Trouble.LosesAnswer)) {
      store.writeNew("2.changelog")(_.write(bytes(1000)))
    }
    assert(!wasNew)
    assert(store.read("2.changelog").sameElements(bytes(1000)))
  }
}
