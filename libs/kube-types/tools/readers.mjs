// Writes src/gen/readers.ts from the descriptors of proto/kube, which standard input contains as JSON. The output has a
// function for each message, which decodes the message into the form of JSON.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'

const FOLDER = 'kube/'
const INLINE = '[kube.inline]'
const OUT = new URL('../src/gen/readers.ts', import.meta.url)

const protos = JSON.parse(readFileSync(0, 'utf8')).file.filter(({ name }) => name.startsWith(FOLDER))
if (protos.length === 0) throw new Error(`no descriptors of proto/${FOLDER} on standard input`)
const prefix = '.kube.'

/** The messages that are texts in JSON, and the functions that read them. */
const TEXTS = { [`${prefix}Quantity`]: 'readQuantity', [`${prefix}Time`]: 'readTime' }
const SCALARS = { TYPE_STRING: 'text', TYPE_BOOL: 'bool', TYPE_INT32: 'int', TYPE_INT64: 'int' }
const TYPES = { text: 'string', bool: 'boolean', int: 'number', readQuantity: 'string', readTime: 'string | null' }
const BYTES = 2

/** Returns the name of a reader: `readPersistentVolumeMetadata` for `.kube.PersistentVolume.Metadata`. */
const readerName = (full) => `read${full.slice(prefix.length).replaceAll('.', '')}`

const messages = new Map()
for (const { messageType } of protos) collect(messageType, prefix)
const texts = [...messages].filter(([full, message]) => !(full in TEXTS) && !isMapEntry(message))
const inner = new Set(texts.flatMap(([, { field }]) => field.map(({ typeName }) => typeName)))
/** The names of the messages that are not part of other messages. Each is also the name of a type. */
const whole = texts.filter(([full]) => !inner.has(full)).map(([, { name }]) => name)

const functions = texts.map(([full, message]) => readerText(full, message))
const helpers = ['addQuantity', 'addText', 'readQuantity', 'readTime'].filter((name) =>
  functions.some((text) => text.includes(` ${name}(`)),
)

mkdirSync(new URL('.', OUT), { recursive: true })
writeFileSync(
  OUT,
  [
    `// Written by tools/readers.mjs from proto/${FOLDER}.`,
    `import type { MessageReader } from '../message.ts'`,
    `import { ${helpers.join(', ')} } from '../message.ts'`,
    `import type { ProtobufReader } from '../protobuf.ts'`,
    `import type { ${whole.join(', ')} } from '../objects.ts'`,
    '',
    ...functions,
    ...whole.map((name) => `export const ${constantName(name)} = read${name} as unknown as MessageReader<${name}>`),
    '',
  ].join('\n'),
)

function collect(list, scope) {
  for (const message of list ?? []) {
    messages.set(scope + message.name, { field: [], ...message })
    collect(message.nestedType, `${scope}${message.name}.`)
  }
}

function isMapEntry(message) {
  return message.options?.mapEntry === true
}

function constantName(name) {
  return `${name.replace(/[a-z](?=[A-Z])|[A-Z](?=[A-Z][a-z])/g, '$&_').toUpperCase()}_MESSAGE`
}

function readerText(full, message) {
  const fields = message.field.map(fieldOf)
  const variables = fields.flatMap((field) => field.variables)
  return [
    `function ${readerName(full)}(reader: ProtobufReader, end: number) {`,
    ...variables.map(({ local, type }) => `  let ${local}: ${type} | undefined`),
    '  while (reader.at < end) {',
    '    switch (reader.tag(end)) {',
    ...fields.flatMap(({ tag, statement }) => [`      case ${tag}:`, `        ${statement}`, '        break']),
    '      default:',
    '        reader.skip(end)',
    '    }',
    '  }',
    `  return { ${variables.map(({ name, local }) => `${name}: ${local}`).join(', ')} }`,
    '}',
    '',
  ].join('\n')
}

/** Returns the code that reads a field. Its variables have numbers, because the name of a field may be a keyword. */
function fieldOf(field) {
  const { name, number, type: form, typeName } = field
  const tag = number * 8 + (form === 'TYPE_STRING' || form === 'TYPE_MESSAGE' ? BYTES : 0)
  if (field.options?.[INLINE] === true) return inlined(field, tag)
  const local = `field${number}`
  const target = messages.get(typeName)
  if (target !== undefined && isMapEntry(target)) {
    const add = target.field[1].typeName in TEXTS ? 'addQuantity' : 'addText'
    const variables = [{ name, local, type: 'Record<string, string>' }]
    return { tag, variables, statement: `${local} = ${add}(${local}, reader, end)` }
  }
  const { type, value } = partOf(field)
  if (field.label === 'LABEL_REPEATED') {
    return { tag, variables: [{ name, local, type: `${type}[]` }], statement: `;(${local} ??= []).push(${value})` }
  }
  const kept = form === 'TYPE_MESSAGE' || field.proto3Optional === true ? value : `${value} || undefined`
  return { tag, variables: [{ name, local, type }], statement: `${local} = ${kept}` }
}

function partOf({ name, type, typeName }) {
  if (type !== 'TYPE_MESSAGE') {
    const method = SCALARS[type]
    if (method === undefined) throw new Error(`${name}: nothing reads ${type}`)
    return { type: TYPES[method], value: `reader.${method}(end)` }
  }
  const text = TEXTS[typeName]
  if (text !== undefined) return { type: TYPES[text], value: `${text}(reader, reader.fieldEnd(end))` }
  const read = readerName(typeName)
  return { type: `ReturnType<typeof ${read}>`, value: `${read}(reader, reader.fieldEnd(end))` }
}

/** Returns the code for a message whose fields become fields of the outer object. */
function inlined({ number, typeName }, tag) {
  const variables = messages.get(typeName).field.map((field) => {
    return { name: field.name, local: `field${number}_${field.number}`, type: partOf(field).type }
  })
  const places = variables.map(({ name, local }) => `${name}: ${local}`).join(', ')
  return { tag, variables, statement: `;({ ${places} } = ${readerName(typeName)}(reader, reader.fieldEnd(end)))` }
}
