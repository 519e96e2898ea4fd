package io.bucketstate.table

import scala.util.Using

import org.apache.xbean.asm9.{ClassReader, ClassVisitor, ClassWriter, MethodVisitor, Opcodes}

/**
 * Counts how often keys in maps are compared: their classes, which nobody else can name, are loaded a second time, with
 * a count at the beginning of what maps call.
 */
object ComparedKeys {
  private var counted = 0L

  /** Called by the loaded classes. */
  def count(): Unit = counted += 1

  /** How often keys were compared by `work`. */
  def during(work: => Unit): Long = {
    val before = counted
    work
    counted - before
  }

  /** An object of a class that is loaded, as are those inside of it, so that it counts. */
  def counting(of: Class[_], arguments: AnyRef*): AnyRef =
    new Loader(of)
      .loadClass(of.getName)
      .getConstructors
      .head
      .newInstance(arguments: _*)
      .asInstanceOf[AnyRef]

  private final class Loader(of: Class[_]) extends ClassLoader(of.getClassLoader) {
    override def loadClass(name: String, resolve: Boolean): Class[_] =
      if (name != of.getName && !name.startsWith(of.getName + "$")) super.loadClass(name, resolve)
      else
        Option(findLoadedClass(name)).getOrElse {
          val bytes = withCounts(name)
          defineClass(name, bytes, 0, bytes.length)
        }

    private def withCounts(name: String): Array[Byte] = {
      val file = name.replace('.', '/') + ".class"
      val reader = Using.resource(getParent.getResourceAsStream(file))(new ClassReader(_))
      val writer = new ClassWriter(0)
      reader.accept(new Counts(writer), 0)
      writer.toByteArray
    }
  }

  private final class Counts(writer: ClassVisitor) extends ClassVisitor(Opcodes.ASM9, writer) {
    override def visitMethod(
        access: Int,
        name: String,
        types: String,
        signature: String,
        thrown: Array[String]
    ): MethodVisitor = {
      val next = super.visitMethod(access, name, types, signature, thrown)
      val isCounted =
        (name == "compareTo" || name == "equals") && (access & Opcodes.ACC_BRIDGE) == 0
      if (!isCounted) next
      else
        new MethodVisitor(Opcodes.ASM9, next) {
          override def visitCode(): Unit = {
            super.visitCode()
            val counter = "io/bucketstate/table/ComparedKeys"
            visitMethodInsn(Opcodes.INVOKESTATIC, counter, "count", "()V", false)
          }
        }
    }
  }
}
