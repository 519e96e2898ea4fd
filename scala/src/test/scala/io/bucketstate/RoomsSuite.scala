package io.bucketstate

import java.nio.file.{Files, Path}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.xbean.asm9.commons.ClassRemapper
import org.apache.xbean.asm9.{ClassReader, ClassVisitor, MethodVisitor, Opcodes}

import io.bucketstate.testkit.{NameRemapper, TidySuite}

/**
 * Dependencies point one way, between rooms and between the files of a room; docs/architecture.md draws
 * them. Read from the compiled classes: whatever way a source file names something, its class refers to
 * it. (A constant that the compiler puts in place of its name leaves no trace; it makes no dependency
 * either that could be broken.)
 */
class RoomsSuite extends TidySuite {
  import RoomsSuite._

  /** Each room, with what it may use of the project besides itself. */
  private val allowed: Map[String, Set[String]] = {
    val base = Set("error", "config", "record")
    val io = base + "checkpoint.io"
    val records = io + "checkpoint.records"
    val changelog = records + "checkpoint.changelog"
    val run = io + "checkpoint.run"
    val hash = Set("checkpoint.sst.hash")
    val sst = run ++ hash + "checkpoint.sst"
    val open = sst + "checkpoint.run.open"
    val write = sst ++ records + "checkpoint.run.write"
    val read = open ++ write + "checkpoint.run.read"
    val manifest = changelog ++ read + "checkpoint.manifest"
    val siblings = Set("checkpoint.snapshot", "checkpoint.recovery", "checkpoint.retention")
    val native = manifest + "rocksdb" + "rocksdb.state"
    val entry = Set("error", "record", "table.entry")
    val index = entry + "table.index"
    val bucket = index + "table.bucket"
    val scan = bucket + "table.scan"
    val table = scan + "table.version" + "table.cold" + "table"
    // What others see of the table: its face, where its buckets come from, and the scans that it gives.
    val face = Set("table", "table.cold", "table.scan")
    val history = native ++ face + "checkpoint.recovery" + "history"
    val follower = history + "background" + "rocksdb.follower"
    val store = follower ++ siblings + "memory" + "store"
    val spark = store + "watch" + "spark.rows" + "spark"
    val queries = Set("config", "watch", "plugin.status", "plugin.queries")
    val doctor = queries + "plugin.doctor"
    val tab = doctor + "plugin.pages" + "plugin.ui"
    val move = Set("move.log", "move.place", "move.read", "move.upsert", "move.write")
    Map(
      "error" -> Set.empty[String],
      "config" -> Set("error"),
      "background" -> Set("error"),
      "record" -> Set("error"),
      "table.entry" -> Set("error", "record"),
      "table.index" -> entry,
      "table.bucket" -> index,
      "table.version" -> entry,
      "table.scan" -> bucket,
      "table.cold" -> (scan + "table.version"),
      "table" -> table,
      "memory" -> Set("error", "config", "record"),
      "checkpoint.io" -> Set("error", "config"),
      "checkpoint.records" -> io,
      "checkpoint.changelog" -> records,
      "checkpoint.run" -> io,
      "checkpoint.sst.hash" -> Set.empty[String],
      "checkpoint.sst" -> (run ++ hash),
      "checkpoint.run.open" -> sst,
      "checkpoint.run.write" -> (sst ++ records),
      "checkpoint.run.read" -> (open ++ write),
      "checkpoint.manifest" -> (changelog ++ read),
      "checkpoint.snapshot" -> (manifest + "background"),
      "checkpoint.recovery" -> (manifest ++ face),
      "checkpoint.retention" -> manifest,
      "history" -> history,
      "rocksdb" -> io,
      "rocksdb.state" -> native,
      "rocksdb.follower" -> follower,
      "store" -> store,
      "spark.rows" -> records,
      "spark.many" -> Set("error"),
      "spark.plan" -> Set("error", "spark.many"),
      "watch" -> Set("config"),
      "spark" -> (store + "watch" + "spark.rows"),
      "plugin.status" -> Set("config", "watch"),
      "plugin.warm" -> Set("config", SparksOwn),
      "plugin.queries" -> queries,
      "plugin.doctor" -> doctor,
      "plugin.pages" -> (doctor + "plugin.pages"),
      "plugin.ui" -> tab,
      "plugin" -> (tab ++ Set("error", "background", "store", "plugin.warm")),
      "move.log" -> io,
      "move.place" -> Set("error"),
      "move.read" -> (spark + "move.log" + "move.place"),
      "move.write" -> (spark + "move.place" + "move.log" + "move.read"),
      "move.upsert" -> Set("error", "move.log", "move.place", "move.read", "move.write"),
      "move.job" -> (spark ++ move),
      "move" -> (spark ++ move + "move.job"),
      "sql" -> (spark ++ Set("move.log", "move.place", "move.read")),
      "" -> Set(
        "error",
        "move",
        "plugin",
        "spark",
        "spark.many",
        "spark.plan",
        "sql",
        "store",
        "background",
        "config",
        SparksOwn
      ),
      SparksOwn -> Set.empty[String]
    )
  }

  /** Rooms that use what is private to Spark. */
  private val reaching =
    Set(
      "plugin",
      "plugin.warm",
      "plugin.ui",
      "spark",
      "spark.many",
      "spark.rows",
      "move",
      "move.job",
      "move.read",
      "move.upsert",
      "sql"
    )

  /** Rooms that know what a state store is to Spark. */
  private val knowing = reaching ++ Set("", "move.place", "move.write", SparksOwn)

  private lazy val classes: Seq[Compiled] = {
    val root = Path.of(
      classOf[BucketedStateStoreProvider].getProtectionDomain.getCodeSource.getLocation.toURI
    )
    Using
      .resource(Files.walk(root))(_.iterator.asScala.toList)
      .filter(_.toString.endsWith(".class"))
      .map(file => Compiled(Files.readAllBytes(file)))
      .filterNot(_.file.endsWith(NamesOfSpark))
  }

  private lazy val fileOf: Map[String, String] = classes.map(c => c.name -> c.file).toMap

  /** Which files use which others. */
  private lazy val uses: Map[String, Set[String]] =
    classes.groupMapReduce(_.file)(c => c.names.flatMap(fileOf.get).filter(_ != c.file))(_ ++ _)

  test("every room is listed, and none that is not there") {
    assert(uses.keySet.map(roomOf) == allowed.keySet)
  }

  for ((room, others) <- allowed.toSeq.sortBy(_._1))
    test(s"'$room' uses only itself and what stands before it") {
      for {
        (file, used) <- uses if roomOf(file) == room
        other <- used if room != SparksOwn
      } {
        val its = roomOf(other)
        assert(
          its == room || others(its) || (its == SparksOwn && reaching(room)),
          s"$file uses $other"
        )
      }
    }

  test("no circle of files") {
    val circles = Circles.of(uses)
    assert(circles.isEmpty, circles.map(_.toSeq.sorted.mkString(" <-> ")).mkString("\n", "\n", ""))
  }

  test(
    "only the spark rooms, those of moves, that of SQL and the doors know Spark's state store traits and rows"
  ) {
    for {
      c <- classes
      if !knowing(roomOf(c.file))
      name <- c.names
    } assert(!name.startsWith(SparkState) && !name.endsWith("/UnsafeRow"), s"${c.file} uses $name")
  }

  test("web UI, history server and deployment are Spark's own: its package alone reaches them") {
    for {
      c <- classes
      if roomOf(c.file) != SparksOwn
      name <- c.names if PrivateToSpark.exists(name.startsWith)
    } assert(name.startsWith(OwnInSpark), s"${c.file} uses $name")
  }

  test("the store is one without Spark") {
    for {
      c <- classes if roomOf(c.file) == "store"
      name <- c.names
    } assert(!name.startsWith(Spark), s"${c.file} uses $name")
  }

  test("the table and what it stands on know no file system") {
    for {
      c <- classes if Set("error", "config", "record", "table")(roomOf(c.file))
      name <- c.names
    } assert(!name.startsWith("org/apache/hadoop/"), s"${c.file} uses $name")
  }

  test("the engine is behind its contract: nothing outside the table names its parts") {
    for {
      c <- classes if !isOfTable(roomOf(c.file))
      name <- c.names if fileOf.get(name).exists(file => isOfTable(roomOf(file)))
    } assert(Face(outermost(name)), s"${c.file} uses $name")
  }
}

private object RoomsSuite {

  /** The files that must lie in Spark's own package. */
  val SparksOwn = "(spark's own)"

  private val Own = "io/bucketstate/"

  /** Package objects, which name classes of Spark's as its later versions do: they stand for Spark. */
  private val NamesOfSpark = "/package.scala"

  private val Spark = "org/apache/spark/"

  /** Packages of Spark's whose classes are private to it; from Java they can be reached all the same. */
  private val PrivateToSpark = Seq("deploy/", "status/", "ui/").map(Spark + _)

  private val OwnInSpark = "org/apache/spark/ui/bucketstate/"

  private val SparkState = "org/apache/spark/sql/execution/streaming/state/"

  /** What others may name of the table. */
  private val Face = Set(
    "ExpiryFigures",
    "FamilyState",
    "StateTable",
    "StateTables",
    "TableHost",
    "cold/BucketLoader",
    "scan/RecordScan"
  ).map(Own + "table/" + _)

  private def isOfTable(room: String): Boolean = room == "table" || room.startsWith("table.")

  private def outermost(name: String): String = name.takeWhile(_ != '$')

  /** Of a file such as `checkpoint/run/Run.scala`. */
  def roomOf(file: String): String =
    if (file.startsWith(Spark)) SparksOwn
    else file.split('/').dropRight(1).mkString(".")

  /** @param names of all classes that this one refers to */
  final case class Compiled(name: String, file: String, names: Set[String])

  object Compiled {
    def apply(bytes: Array[Byte]): Compiled = {
      val names = mutable.Set.empty[String]
      var source = ""
      val collecting = new NameRemapper {
        override def map(name: String): String = {
          names += name
          name
        }
      }
      val reader = new ClassReader(bytes)
      reader.accept(
        new ClassRemapper(Opcodes.ASM9, Everything, collecting) {
          override def visitSource(file: String, debug: String): Unit = source = file
        },
        0
      )
      val name = reader.getClassName
      val folder = name.take(name.lastIndexOf('/') + 1)
      Compiled(name, (folder + source).stripPrefix(Own), names.toSet)
    }
  }

  /** Asks for the methods' bodies, which are passed over when nobody asks. */
  private object Everything extends ClassVisitor(Opcodes.ASM9) {
    override def visitMethod(
        access: Int,
        name: String,
        descriptor: String,
        signature: String,
        exceptions: Array[String]
    ): MethodVisitor = new MethodVisitor(Opcodes.ASM9) {}
  }

  /** Tarjan's strongly connected components, those of one node left out. */
  object Circles {
    def of(graph: Map[String, Set[String]]): Seq[Set[String]] = {
      val index = mutable.HashMap.empty[String, Int]
      val low = mutable.HashMap.empty[String, Int]
      val stack = mutable.Stack.empty[String]
      val found = mutable.ArrayBuffer.empty[Set[String]]
      def visit(node: String): Unit = {
        index(node) = index.size
        low(node) = index(node)
        stack.push(node)
        graph.getOrElse(node, Set.empty).foreach { next =>
          if (!index.contains(next)) {
            visit(next)
            low(node) = math.min(low(node), low(next))
          } else if (stack.contains(next)) low(node) = math.min(low(node), index(next))
        }
        if (low(node) == index(node)) {
          val circle = mutable.Set.empty[String]
          while (circle.add(stack.pop()) && !circle(node)) ()
          if (circle.size > 1) found += circle.toSet
        }
      }
      graph.keys.toSeq.sorted.filterNot(index.contains).foreach(visit)
      found.toSeq
    }
  }
}
