package io.bucketstate.config

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import scala.reflect.{ClassTag, classTag}

import io.bucketstate.testkit.TidySuite

class GenerateSettingsSuite extends TidySuite {

  test("the file Python reads is what the registries say") {
    val file = Path.of("python/src/bucketstate/settings.json")
    assert(
      new String(Files.readAllBytes(file), UTF_8) == GenerateSettings.json,
      "run make generate"
    )
  }

  test("a span of its own divides the time after which state expires, where it can") {
    def span(after: String): Long = StoreConfig
      .parse(
        Map(ConfigKey.TimeBucketExpireAfter.key -> after),
        SparkHonoured(100, 30, -1, 2, 10, "lz4", true, 1, 500, false, false)
      )
      .timeBuckets
      .get
      .span
    assert(span("16h") == 3600 && span("100s") == 5 && span("30min") == 100 && span("7s") == 1)
    assert(span("1009s") == 63, "a prime number")
  }

  test("every default is allowed, and no two settings or metrics share a name") {
    val defaults =
      ConfigKey.all.filter(k => k.shown == Seq(k.key)).map(k => k.key -> k.default).toMap
    val config = StoreConfig.parse(
      defaults,
      SparkHonoured(100, 30, -1, 2, 10, "lz4", true, 1, 500, false, false)
    )
    assert(config.numBuckets.contains(64))
    assert(ConfigKey.all.map(_.name).distinct.size == ConfigKey.all.size)
    assert(MetricKey.all.map(_.name).distinct.size == MetricKey.all.size)
  }

  test("a registry lists everything that it defines") {
    assert(defined[ConfigKey](ConfigKey) == ConfigKey.all.toSet)
    assert(defined[MetricKey](MetricKey) == MetricKey.all.toSet)
    assert(defined[ConfigKey](PluginKey) == PluginKey.all.toSet)
  }

  /** The values of a type that an object has under a name. */
  private def defined[A: ClassTag](registry: AnyRef): Set[A] =
    registry.getClass.getMethods.iterator
      .filter(m => m.getParameterCount == 0 && m.getReturnType == classTag[A].runtimeClass)
      .map(_.invoke(registry))
      .collect { case value: A => value }
      .toSet
}
