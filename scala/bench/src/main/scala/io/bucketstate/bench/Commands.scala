package io.bucketstate.bench

/** The command line of a benchmark: its options, or one sentence on what is wrong with them. */
object Commands {

  def run(args: Array[String], defaults: BenchOptions)(body: BenchOptions => Unit): Unit =
    if (args.contains("--help")) Host.say(BenchOptions.usage)
    else
      checked(args, defaults) match {
        case Left(problem) =>
          Host.say(s"$problem\n\n${BenchOptions.usage}")
          sys.exit(2)
        case Right(options) => body(options)
      }

  private def checked(args: Array[String], defaults: BenchOptions): Either[String, BenchOptions] =
    try {
      val options = BenchOptions.parse(args.toSeq, defaults)
      Contender.requireLoadable(options.contenders)
      Right(options)
    } catch {
      case e: IllegalArgumentException => Left(e.getMessage.stripPrefix("requirement failed: "))
    }
}
