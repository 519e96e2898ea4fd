import sbt.*
import sbt.Keys.*

/**
 * What differs in the build from one minor version of Spark to the next.
 *
 * @param version of Spark's artifacts
 * @param guava   as Spark's distribution brings it to every executor; its poms name an older one
 * @param hadoop  of Spark's Hadoop client
 * @param jars    the folder of pyspark's jars, for a Spark that Maven Central does not have
 */
final case class SparkBuild(
    version: String,
    guava: String,
    hadoop: String,
    jars: Option[File]
) {
  val minor: String = SparkBuild.minorOf(version)

  /**
   * The folders of sources that are for this minor version, beside `scala`: its own, those with a `+` of its own and
   * of all before it, and those with a `-` of its own and of all after it.
   */
  def sources(beside: File): Seq[File] = {
    val (before, after) = SparkBuild.Minors.splitAt(SparkBuild.Minors.indexOf(minor))
    val shared = (before :+ minor).map(m => s"spark-$m+") ++ after.map(m => s"spark-$m-")
    (s"spark-$minor" +: shared).map(beside / _)
  }

  /** Spark's libraries, in a configuration of their own so that nothing of it is published. */
  def libraries(in: Configuration): Seq[Setting[?]] = {
    val sql = "org.apache.spark" %% "spark-sql" % version % in
    jars match {
      case None =>
        Seq(libraryDependencies ++= Seq(sql, "com.google.guava" % "guava" % guava % in))
      case Some(folder) =>
        val main = folder / s"spark-sql_2.13-$version.jar"
        val scala = SparkBuild.scalaIn(folder)
        val others = (folder * "*.jar").get().filterNot(SparkBuild.fromSbt).filter(_ != main).sorted
        Seq(
          libraryDependencies ++= Seq(
            sql.from(main.toURI.toString).intransitive(),
            "org.scala-lang" % "scala-library" % scala % in,
            "org.scala-lang" % "scala-reflect" % scala % in
          ),
          (if (in == Test) Test else Compile) / unmanagedJars ++= others.classpath
        )
    }
  }
}

object SparkBuild {

  /**
   * The compiler of all builds, which is that of the oldest Spark: a newer one may call what is not in the
   * scala-library that its executors run. It compiles against each Spark's own scala-library. With one for each Spark,
   * the sbt that compiles for all of them would begin with a cold compiler for each.
   */
  val Scala = "2.13.16"

  /** The newest of scalafix's compiler plug-in that there is for this Scala. */
  val Semanticdb = "4.14.2"

  /** All that there is a build for, the oldest first. */
  private val Minors = Seq("4.0", "4.1", "4.2", "4.3")

  /**
   * The build for a minor version.
   *
   * @param root where the virtual environments are that hold pyspark
   */
  def of(minor: String, root: File): SparkBuild = minor match {
    case "4.0" => SparkBuild("4.0.4", "33.4.0-jre", "3.4.1", None)
    case "4.1" => SparkBuild("4.1.1", "33.4.8-jre", "3.4.2", None)
    case "4.2" => SparkBuild("4.2.0", "33.6.0-jre", "3.5.0", None)
    case "4.3" =>
      val version = "4.3.0"
      SparkBuild(
        version,
        "33.6.0-jre",
        "3.5.0",
        Some(pysparkJars(version, root))
      )
    case other =>
      sys.error(s"-Dspark=$other: there is no build for it, only for ${Minors.mkString(", ")}.")
  }

  /** Goes to another minor version in an sbt that runs, which need not start again: `onSpark 4.1`. */
  val onSpark: Command = Command.single("onSpark") { (state, minor) =>
    sys.props("spark") = minor
    "reload" :: state
  }

  private def minorOf(version: String): String = version.split('.').take(2).mkString(".")

  /** sbt brings them itself, and two of one class are not what a user has. */
  private def fromSbt(jar: File): Boolean =
    Seq(Library, "scala-compiler-", "scala-reflect-").exists(jar.getName.startsWith)

  private val Library = "scala-library-"

  /** The version of Scala's library among a Spark's jars. */
  private def scalaIn(folder: File): String =
    (folder * s"$Library*.jar").get() match {
      case Seq(jar) => jar.getName.stripPrefix(Library).stripSuffix(".jar")
      case jars => sys.error(s"$folder has ${jars.size} jars called $Library*.jar, where one was expected.")
    }

  private def pysparkJars(version: String, root: File): File = {
    val minor = minorOf(version)
    val environments =
      sys.props.get("spark.venv").map(file).toSeq ++ Seq(root / ".venv", root / ".venvs" / minor)
    val folders = environments.flatMap { environment =>
      (environment / "lib" * "python3.*" / "site-packages" / "pyspark" / "jars").get()
    }
    folders.find(folder => (folder / s"spark-sql_2.13-$version.jar").isFile).getOrElse {
      sys.error(
        s"Spark $version is built from the jars of pyspark, and pyspark $version is in none of " +
          s"${environments.mkString(", ")}: run `make .stamps/venv-$minor`, or name another environment " +
          "with -Dspark.venv=FOLDER."
      )
    }
  }
}
