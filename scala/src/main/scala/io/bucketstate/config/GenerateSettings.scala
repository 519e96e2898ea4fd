package io.bucketstate.config

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.{ObjectMapper, SerializationFeature}

/**
 * Writes the registries of settings and metrics as JSON, for Python and the documentation: run by
 * `make generate` with the file to write. A test compares the committed file with [[GenerateSettings.json]].
 */
object GenerateSettings {

  def main(args: Array[String]): Unit = {
    val target = Path.of(args(0))
    Files.write(target, json.getBytes(UTF_8))
    ()
  }

  def json: String = {
    val mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT)
    val root = mapper.createObjectNode()
    root.put("prefix", ConfigKey.Prefix)
    val settings = root.putArray("settings")
    ConfigKey.all.foreach(describe(settings.addObject(), _))
    val plugin = root.putArray("plugin")
    PluginKey.all.foreach(describe(plugin.addObject(), _))
    val metrics = root.putArray("metrics")
    MetricKey.all.foreach { metric =>
      metrics
        .addObject()
        .put("name", metric.name)
        .put("type", metric.metricType.name)
        .put("kind", metric.kind.name)
        .put("doc", metric.doc)
        .put("over", metric.over.name)
        .put("prometheus", metric.prometheus)
    }
    mapper.writeValueAsString(root) + "\n"
  }

  private def describe(node: ObjectNode, key: ConfigKey): Unit = {
    node.put("name", key.name).put("key", key.key).put("type", key.kind.name)
    key.kind match {
      case ConfigType.IntRange(min, max)  => node.put("min", min).put("max", max)
      case ConfigType.Millis(min, max)    => node.put("min", min).put("max", max)
      case ConfigType.Bytes(min, max)     => node.put("min", min).put("max", max)
      case ConfigType.Duration(min, word) => node.put("min", min).put("word", word)
      case ConfigType.Text                => ()
      case ConfigType.Folder              => ()
      case ConfigType.Memory              => ()
      case ConfigType.OneOf(values)       =>
        val array = node.putArray("values")
        values.foreach(v => array.add(v))
      case ConfigType.Named(groups) =>
        val array = node.putArray("groups")
        groups.foreach(g => array.add(g))
    }
    node.put("default", key.default).put("doc", key.doc)
    if (key.perQuery) node.put("perQuery", true)
    ()
  }
}
