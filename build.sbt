// One jar for each minor version of Spark, from one source tree: `scripts/sbt -Dspark=4.1 core/package`.
val spark = SparkBuild.of(sys.props.getOrElse("spark", "4.2"), file("."))

ThisBuild / organization := "io.bucketstate"
ThisBuild / organizationName := "bucketstate"
ThisBuild / version := IO.read(file("VERSION")).trim
ThisBuild / scalaVersion := SparkBuild.Scala
// Each Spark brings a scala-library that is as new as the compiler or newer, and is compiled against: see there.
ThisBuild / allowUnsafeScalaLibUpgrade := true
ThisBuild / licenses := Seq("Apache-2.0" -> url("https://www.apache.org/licenses/LICENSE-2.0"))
ThisBuild / semanticdbEnabled := true
ThisBuild / semanticdbVersion := SparkBuild.Semanticdb
ThisBuild / scalacOptions ++= Seq(
  "-encoding", "utf8", "-release", "17", "-deprecation", "-feature", "-unchecked",
  "-Xlint", "-Wdead-code", "-Wextra-implicit", "-Wnumeric-widen", "-Wunused", "-Wvalue-discard",
  "-Werror",
  // Class files are written beside the compiling of what comes next.
  "-Ybackend-parallelism", "2"
)
ThisBuild / javacOptions ++= Seq("--release", "17", "-Xlint:all", "-Werror")

// What Spark's own launchers pass on Java 17, so that a forked JVM sees the same world.
val sparkJvmOptions = Seq(
  "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio",
  "java.util", "java.util.concurrent", "java.util.concurrent.atomic"
).map(p => s"--add-opens=java.base/$p=ALL-UNNAMED") ++ Seq(
  "sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar", "jdk.internal.ref"
).map(p => s"--add-opens=java.base/$p=ALL-UNNAMED") ++ Seq(
  "-XX:+IgnoreUnrecognizedVMOptions", "-Djdk.reflect.useDirectMethodHandle=false",
  "-Dio.netty.tryReflectionSetAccessible=true", "-Duser.timezone=UTC"
)

// Of tests that run a minute or two: the optimising compiler and the collector with threads of its own cost them more
// than they save. Without the other compiler the JVM itself would keep 48 MB for compiled code.
val briefJvmOptions = Seq("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m", "-XX:+UseSerialGC")

// Who finds a jar alone finds its licence, too.
val withLicense = Seq(packageBin, packageSrc, packageDoc).map { task =>
  Compile / task / mappings += (ThisBuild / baseDirectory).value / "LICENSE" -> "META-INF/LICENSE"
}

// How sources look is checked where all of them are compiled; with another Spark, only those that are compiled with it alone.
val looks =
  if (spark.minor == "4.2") Nil
  else
    Seq(Compile, Test).flatMap { of =>
      Seq(of / scalafmt / unmanagedSources, of / scalafix / unmanagedSources).map {
        _ := (of / unmanagedSources).value.filter(_.getPath.contains("/spark-"))
      }
    }

// Each minor version has its own folder for what is built, so that going from one to another builds nothing again.
val perSpark = Seq(target := baseDirectory.value / "target" / s"spark-${spark.minor}")

lazy val core = (project in file("scala"))
  .settings(perSpark, spark.libraries(Provided), withLicense, looks)
  .settings(
    name := "bucketstate",
    description := "A state store for Spark Structured Streaming whose batches cost what they change, not what they keep",
    moduleName := s"bucketstate-spark-${spark.minor}",
    Compile / unmanagedSourceDirectories ++= spark.sources((Compile / sourceDirectory).value),
    Test / unmanagedSourceDirectories ++= spark.sources((Test / sourceDirectory).value),
    libraryDependencies ++= Seq(
      "org.scalatest" %% "scalatest" % "3.2.20" % Test,
      "org.scalatestplus" %% "scalacheck-1-18" % "3.2.19.0" % Test
    ),
    // The rules of `bucketstate doctor` are one file, which the plugin's page in Spark's web UI reads, too.
    Compile / resourceGenerators += Def.task {
      val rules = (Compile / resourceManaged).value / "io/bucketstate/plugin/doctor/rules.json"
      val source = (ThisBuild / baseDirectory).value / "python/src/bucketstate/doctor/rules.json"
      IO.copyFile(source, rules)
      Seq(rules)
    }.taskValue,
    // GenerateSettings is for this checkout: the jar is nothing to be run by itself.
    Compile / packageBin / mainClass := None,
    // Functions as classes: at a restart each is read from the jar in less time than the JVM needs to make one.
    Compile / scalacOptions += "-Ydelambdafy:inline",
    // ScalaTest's assertions are values; in a helper that returns Unit they are meant to be dropped.
    Test / scalacOptions -= "-Wvalue-discard",
    Test / fork := true,
    Test / javaOptions ++= sparkJvmOptions ++ Seq("-Xmx3g", "-XX:+UseParallelGC"),
    // An agent that counts lines: scripts/coverage.
    Test / javaOptions ++= sys.env.get("BUCKETSTATE_JVM_OPTIONS").toSeq,
    Test / testOptions += Tests.Argument(TestFrameworks.ScalaTest, "-oDF"),
    Test / baseDirectory := (ThisBuild / baseDirectory).value
  )

lazy val bench = (project in file("scala/bench"))
  .dependsOn(core)
  .settings(perSpark, spark.libraries(Compile))
  .settings(
    name := "bucketstate-bench",
    publish / skip := true,
    run / fork := true,
    run / outputStrategy := Some(StdoutOutput),
    run / baseDirectory := (ThisBuild / baseDirectory).value,
    run / javaOptions ++= sparkJvmOptions ++ Seq("-Xmx12g", "-XX:+UseG1GC")
  )

// Spark's own tests, run on this provider. The versions of what they need are those of Spark's build.
lazy val conformance = (project in file("scala/conformance"))
  .dependsOn(core)
  .settings(perSpark, spark.libraries(Test))
  .settings(
    name := "bucketstate-conformance",
    publish / skip := true,
    Test / unmanagedSourceDirectories ++= spark.sources((Test / sourceDirectory).value),
    libraryDependencies ++= Seq(
      "org.scalatest" %% "scalatest" % "3.2.20" % Test,
      "org.scalatestplus" %% "scalacheck-1-18" % "3.2.19.0" % Test,
      "org.scalatestplus" %% "mockito-5-12" % "3.2.19.0" % Test
    ) ++ Seq("spark-sql", "spark-core", "spark-catalyst").map { module =>
      "org.apache.spark" %% module % spark.version % Test classifier "tests"
    },
    Test / scalacOptions -= "-Wvalue-discard",
    // Java may extend classes of Spark's that are private to its Scala.
    Test / compileOrder := CompileOrder.JavaThenScala,
    Test / fork := true,
    Test / javaOptions ++= sparkJvmOptions ++ briefJvmOptions ++ Seq("-Xmx4g", "-Xss4m"),
    Test / testOptions += Tests.Argument(TestFrameworks.ScalaTest, "-oDF"),
    Test / testOptions += Tests.Argument(
      TestFrameworks.ScalaTest,
      "-u",
      ((ThisBuild / baseDirectory).value / "artifacts" / "conformance" / spark.minor).getPath
    ),
    Test / baseDirectory := (ThisBuild / baseDirectory).value,
    // Checkpoints of older Sparks that tests restart from: they have to be folders.
    Test / resourceGenerators += Def.task {
      val cache = streams.value.cacheDirectory / "spark-checkpoints"
      val target = (Test / resourceManaged).value
      val unpack = FileFunction.cached(cache) { (jars: Set[File]) =>
        jars.flatMap(IO.unzip(_, target, (name: String) => name.startsWith("structured-streaming/")))
      }
      val jars = (Test / update).value.allFiles.filter(_.getName == s"spark-sql_2.13-${spark.version}-tests.jar")
      unpack(jars.toSet).toSeq
    }.taskValue
  )

val writeClassPath = taskKey[File]("writes down what it takes to run the HDFS of the PySpark tests")

// Core's test kit on a real HDFS in the test's JVM. A project of its own, because the mini cluster is one jar of 56 MB
// with servers, YARN and test libraries, which nothing else should be able to name.
lazy val hdfs = (project in file("scala/hdfs"))
  .dependsOn(core % "test->test")
  .settings(perSpark, spark.libraries(Test))
  .settings(
    name := "bucketstate-hdfs",
    publish / skip := true,
    libraryDependencies ++= Seq(
      // Of the same version as the Hadoop client that Spark brings.
      "org.apache.hadoop" % "hadoop-client-minicluster" % spark.hadoop % Test,
      "org.scalatest" %% "scalatest" % "3.2.20" % Test
    ),
    Test / scalacOptions -= "-Wvalue-discard",
    Test / fork := true,
    Test / javaOptions ++= sparkJvmOptions ++ Seq("-Xmx2g", "-XX:+UseParallelGC"),
    Test / testOptions += Tests.Argument(TestFrameworks.ScalaTest, "-oDF"),
    Test / baseDirectory := (ThisBuild / baseDirectory).value,
    writeClassPath := {
      val file = target.value / "server.classpath"
      val classPath = (Test / fullClasspath).value.map(_.data.getPath)
      IO.write(file, classPath.mkString(java.io.File.pathSeparator))
      file
    }
  )

// S3A as Spark's distribution would have it: the Hadoop of Spark's build, and of Amazon's SDK the modules that S3A uses.
// Spark's own netty is newer than the SDK's and wins.
val awsVersion = "2.35.4"

// The provider on S3A, against an emulator: tests, and a benchmark that counts requests.
lazy val s3 = (project in file("scala/s3"))
  .dependsOn(core % "test->test")
  .settings(perSpark, spark.libraries(Test))
  .settings(
    name := "bucketstate-s3",
    publish / skip := true,
    libraryDependencies ++= Seq(
      "org.apache.hadoop" % "hadoop-aws" % spark.hadoop % Test intransitive (),
      "software.amazon.awssdk" % "s3" % awsVersion % Test,
      "software.amazon.awssdk" % "s3-transfer-manager" % awsVersion % Test,
      "software.amazon.awssdk" % "sts" % awsVersion % Test,
      // Not used, but S3A's classes name it.
      "software.amazon.s3.analyticsaccelerator" % "analyticsaccelerator-s3" % "1.3.1" % Test intransitive (),
      // Asked what they can do, and given no request.
      "org.apache.hadoop" % "hadoop-azure" % "3.5.0" % Test intransitive (),
      "org.apache.hadoop" % "hadoop-gcp" % "3.5.0" % Test intransitive ()
    ),
    Test / scalacOptions -= "-Wvalue-discard",
    Test / fork := true,
    Test / javaOptions ++= sparkJvmOptions ++ briefJvmOptions :+ "-Xmx2g",
    Test / testOptions += Tests.Argument(TestFrameworks.ScalaTest, "-oDF"),
    Test / baseDirectory := (ThisBuild / baseDirectory).value,
    Test / run / fork := true,
    // The benchmark's times are those of a JVM that optimises.
    Test / run / javaOptions := sparkJvmOptions ++ Seq("-Xmx2g", "-XX:+UseParallelGC"),
    Test / run / outputStrategy := Some(StdoutOutput)
  )

lazy val root = (project in file("."))
  .aggregate(core, bench, conformance, hdfs, s3)
  .settings(name := "bucketstate-root", publish / skip := true, commands += SparkBuild.onSpark)
