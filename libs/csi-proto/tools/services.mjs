// Writes src/gen/services.ts from the descriptors of the proto file, which it reads as JSON from standard input. The
// output describes the fields of each message, and has a constant for each RPC, so that bundlers drop unused RPCs.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'

const FILE = 'csi/v1/csi.proto'
const SECRET = '[csi.v1.csi_secret]'
const OUT = new URL('../src/gen/services.ts', import.meta.url)
const MESSAGES = new URL('../src/gen/csi/v1/csi.ts', import.meta.url)
/** An unused file, which ts-proto writes because the proto file declares options. This tool deletes it. */
const UNUSED = new URL('../src/gen/google/protobuf/descriptor.ts', import.meta.url)

const proto = JSON.parse(readFileSync(0, 'utf8')).file.find(({ name }) => name === FILE)
if (proto === undefined) throw new Error(`no descriptor of ${FILE} on standard input`)
const prefix = `.${proto.package}.`

/** Returns the name in the generated code: VolumeCapability_AccessMode for `.csi.v1.VolumeCapability.AccessMode`. */
const typeName = (full) => full.slice(prefix.length).replaceAll('.', '_')
const isMapEntry = (message) => message.options?.mapEntry === true

function* messagesOf(messages, scope) {
  for (const message of messages ?? []) {
    if (isMapEntry(message)) continue
    yield { name: scope + message.name, message }
    yield* messagesOf(message.nestedType, `${scope}${message.name}_`)
  }
}

function fieldType(field) {
  if (field.type === 'TYPE_ENUM') return `{ kind: 'enum', values: csi.${typeName(field.typeName)} }`
  if (field.type !== 'TYPE_MESSAGE') return 'SCALAR'
  if (field.typeName === '.google.protobuf.Timestamp') return 'TIMESTAMP'
  if (/^\.google\.protobuf\.\w+Value$/.test(field.typeName)) return 'WRAPPER'
  if (!field.typeName.startsWith(prefix)) throw new Error(`${field.name}: no shape for ${field.typeName}`)
  return `{ kind: 'message', shape: ${typeName(field.typeName)}Shape }`
}

function fieldText(field, message) {
  const entry = (message.nestedType ?? []).find(
    (nested) => isMapEntry(nested) && field.typeName?.endsWith(`.${message.name}.${nested.name}`),
  )
  const parts = [`name: '${field.name}'`, `property: '${field.jsonName}'`]
  if (field.oneofIndex !== undefined) parts.push(`oneof: '${camel(message.oneofDecl[field.oneofIndex].name)}'`)
  if (entry !== undefined) parts.push(`many: 'map'`)
  else if (field.label === 'LABEL_REPEATED') parts.push(`many: 'list'`)
  if (field.options?.[SECRET] === true) parts.push('secret: true')
  parts.push(`type: ${fieldType(entry === undefined ? field : entry.field[1])}`)
  return `    { ${parts.join(', ')} },`
}

const camel = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase())

function shapeText({ name, message }) {
  const fields = (message.field ?? []).map((field) => fieldText(field, message))
  const body = fields.length === 0 ? ['  return []'] : ['  return [', ...fields, '  ]']
  return [`export function ${name}Shape(): Shape {`, ...body, '}', ''].join('\n')
}

function methodText(service, method) {
  const [request, response] = [typeName(method.inputType), typeName(method.outputType)]
  if (method.clientStreaming) throw new Error(`${method.name}: requests cannot be streams`)
  return [
    `export const ${method.name} = /* @__PURE__ */ ${method.serverStreaming ? 'serverStream' : 'unary'}(`,
    `  '/${proto.package}.${service.name}/${method.name}',`,
    '  {',
    `    request: csi.${request},`,
    `    response: csi.${response},`,
    `    requestShape: ${request}Shape,`,
    `    responseShape: ${response}Shape,`,
    '  },',
    ')',
    '',
  ].join('\n')
}

function serviceText({ name, method }) {
  const entries = method.map((each) => `  ${each.name[0].toLowerCase()}${each.name.slice(1)}: ${each.name},`)
  return [
    `export const ${name}Service = {`,
    ...entries,
    '} as const',
    '',
    `export type ${name}Handlers = Handlers<typeof ${name}Service>`,
    '',
  ].join('\n')
}

const messages = [...messagesOf(proto.messageType, '')]
writeFileSync(
  OUT,
  [
    `// Generated from ${FILE} by tools/services.mjs; do not edit.\n`,
    `import * as csi from './csi/v1/csi.ts'`,
    `import { type Handlers, serverStream, unary } from '../method.ts'`,
    `import { SCALAR, type Shape, TIMESTAMP, WRAPPER } from '../method.ts'\n`,
    ...messages.map(shapeText),
    ...proto.service.flatMap((service) => service.method.map((method) => methodText(service, method))),
    ...proto.service.map(serviceText),
    '/** Every message of the proto by its name in the generated code. */',
    'export const SHAPES: Readonly<Record<string, () => Shape>> = {',
    ...messages.map(({ name }) => `  ${name}: ${name}Shape,`),
    '}\n',
  ].join('\n'),
)
rmSync(UNUSED)
keepEveryKey()

/** Makes the generated code add map entries by `putEntry`, because an assignment loses the key `__proto__`. */
function keepEveryKey() {
  const code = readFileSync(MESSAGES, 'utf8')
  const changed = code.replace(/(message\.\w+)\[(entry\d+)\.key\] = \2\.value;/g, 'putEntry($1, $2);')
  if (changed === code) throw new Error('ts-proto writes the entries of maps in another way now')
  writeFileSync(MESSAGES, `import { putEntry } from '../../../method.ts';\n${changed}`)
}
