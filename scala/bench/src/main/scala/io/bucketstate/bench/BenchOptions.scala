package io.bucketstate.bench

import java.nio.file.{Path, Paths}

import scala.annotation.tailrec

/** How the checkpoint is reached: each provider's own way, or one counted Hadoop file system. */
sealed abstract class FileAccess(val name: String)

object FileAccess {
  case object Own extends FileAccess("nio")
  case object Counted extends FileAccess("hadoop")

  val all: Seq[FileAccess] = Seq(Own, Counted)
}

final case class BenchOptions(
    keyCounts: Seq[Int] = Seq(1000000),
    contenders: Seq[Contender] = Contender.sideBySide,
    batches: Int = 30,
    updates: Int = 20000,
    warmUp: Int = 5,
    maintenanceEvery: Int = 10,
    rounds: Int = 1,
    tails: Seq[Int] = Seq(10, 100),
    jvms: Seq[RestartCondition] = RestartCondition.all,
    seed: Long = 42,
    draw: KeyDraw = KeyDraw.Uniform,
    fileAccess: FileAccess = FileAccess.Own,
    heap: Option[String] = None,
    settings: Seq[(String, String)] = Nil,
    workDir: Path = Paths.get(sys.props("java.io.tmpdir")),
    json: Option[Path] = None
) {
  require(keyCounts.nonEmpty && keyCounts.forall(_ > 0), "--keys: at least one count above 0")
  require(contenders.nonEmpty, "--providers: at least one")
  require(updates > 0, "--updates: above 0")
  require(warmUp >= 0 && batches > warmUp, "--batches: more than --warm-up")
  require(maintenanceEvery > 0, "--maintenance-every: above 0")
  require(rounds > 0, "--rounds: above 0")
  require(tails.nonEmpty && tails.forall(_ > 0), "--tails: at least one count above 0")
  require(heap.forall(_.matches("[1-9][0-9]*[mg]")), "--heap: a number with m or g, such as 512m")

  /** The command line of a JVM that runs one contender with one size of the state. */
  def forChild(contender: Contender, keys: Int): Seq[String] = Seq(
    "--keys" -> keys.toString,
    "--providers" -> contender.name,
    "--batches" -> batches.toString,
    "--updates" -> updates.toString,
    "--warm-up" -> warmUp.toString,
    "--maintenance-every" -> maintenanceEvery.toString,
    "--seed" -> seed.toString,
    "--draw" -> draw.name,
    "--filesystem" -> fileAccess.name
  ).flatMap { case (name, value) => Seq(name, value) } ++
    heap.toSeq.flatMap(Seq("--heap", _)) ++
    settings.flatMap { case (key, value) => Seq("--conf", s"$key=$value") }
}

object BenchOptions {
  val usage: String =
    """Options:
      |  --keys 100k,1m,4m        sizes of the state, in keys            (1m)
      |  --providers LIST         of hdfs,rocksdb,rocksdb-tuned (as Spark's guide advises),rocksdb-default (without
      |                           its changelog),hashmap,bucketed,bucketed-plugin,
      |                           bucketed-rocksdb,bucketed-rocksdb-local,no-snapshots,eager (the benchmark's own)
      |  --batches B              batches, the warm-up included          (30)
      |  --updates U              random get+put per batch               (20k)
      |  --warm-up W              first batches that are not counted     (5)
      |  --maintenance-every M    batches between two doMaintenance      (10)
      |  --rounds R               repeats; the tables show medians       (1)
      |  --tails 10,100           changelogs since the newest snapshot, at restarts (10,100)
      |  --jvms bare,spark,plugin  what a restart's JVM has done before (bare,spark,plugin)
      |  --seed S                 of the sequence of updates             (42)
      |  --draw uniform|zipf      how the keys of a batch are drawn      (uniform)
      |  --filesystem nio|hadoop  each provider's own way to a local folder, or one counted
      |                           Hadoop file system for all             (nio)
      |  --heap 512m              each provider in a JVM of its own with so much heap, whose
      |                           resident memory is reported (ProviderBenchmark; all in one)
      |  --conf KEY=VALUE         a Spark SQL setting for all providers, repeatable
      |  --dir FOLDER             where the temporary folder is made     (java.io.tmpdir)
      |  --json FILE              writes the results for machines too""".stripMargin

  /** @throws java.lang.IllegalArgumentException that says which option is wrong, and what is allowed */
  def parse(args: Seq[String], defaults: BenchOptions): BenchOptions = {
    @tailrec
    def loop(rest: List[String], options: BenchOptions): BenchOptions = rest match {
      case Nil                   => options
      case name :: value :: more => loop(more, set(options, name, value))
      case name :: Nil           => throw new IllegalArgumentException(s"$name needs a value")
    }
    loop(args.toList, defaults)
  }

  private def set(options: BenchOptions, name: String, value: String): BenchOptions = name match {
    case "--keys"      => options.copy(keyCounts = list(value).map(count(name, _)).distinct.sorted)
    case "--providers" => options.copy(contenders = list(value).map(Contender.named).distinct)
    case "--batches"   => options.copy(batches = count(name, value))
    case "--updates"   => options.copy(updates = count(name, value))
    case "--warm-up"   => options.copy(warmUp = count(name, value))
    case "--maintenance-every" => options.copy(maintenanceEvery = count(name, value))
    case "--rounds"            => options.copy(rounds = count(name, value))
    case "--tails" => options.copy(tails = list(value).map(count(name, _)).distinct.sorted)
    case "--jvms"  => options.copy(jvms = list(value).map(RestartCondition.named).distinct)
    case "--seed"  => options.copy(seed = count(name, value).toLong)
    case "--draw"  =>
      val draw = KeyDraw.all.find(_.name == value).getOrElse {
        throw new IllegalArgumentException(
          s"$name $value: one of ${KeyDraw.all.map(_.name).mkString(", ")}"
        )
      }
      options.copy(draw = draw)
    case "--filesystem" =>
      val access = FileAccess.all.find(_.name == value).getOrElse {
        throw new IllegalArgumentException(
          s"$name $value: one of ${FileAccess.all.map(_.name).mkString(", ")}"
        )
      }
      options.copy(fileAccess = access)
    case "--heap" => options.copy(heap = Some(value))
    case "--conf" =>
      value.split("=", 2) match {
        case Array(key, setting) => options.copy(settings = options.settings :+ (key -> setting))
        case _ => throw new IllegalArgumentException(s"$name $value: KEY=VALUE is expected")
      }
    case "--dir"  => options.copy(workDir = Paths.get(value))
    case "--json" => options.copy(json = Some(Paths.get(value)))
    case _        => throw new IllegalArgumentException(s"there is no option $name")
  }

  private def list(value: String): Seq[String] = value.split(',').toSeq.map(_.trim)

  private def count(name: String, text: String): Int = {
    val (digits, unit) = text.toLowerCase.span(_.isDigit)
    val factor = unit match {
      case ""  => Some(1L)
      case "k" => Some(1000L)
      case "m" => Some(1000000L)
      case _   => None
    }
    val number = for {
      f <- factor
      n <- digits.toLongOption
      if n * f <= Int.MaxValue
    } yield (n * f).toInt
    number.getOrElse {
      throw new IllegalArgumentException(
        s"$name $text: a number such as 500, 20k or 1m is expected"
      )
    }
  }
}
