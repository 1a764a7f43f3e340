import { documentOf, parseKubeconfig } from '@csi-sidecars/kube-client/readers'
import { Quantity, QuantityError } from '@csi-sidecars/kube-types'
import { goDuration, parseFlags, parseGoDuration, ValueError } from '@csi-sidecars/sidecar/readers'
import { attempt, type BytesReader } from '../reader.ts'

const MAX_INT64 = 2n ** 63n - 1n

export const quantities: BytesReader = {
  name: 'quantities',
  seeds: ['1Gi', '-1.5e3', '250m', '+12345678901234567890', '0.000000001n'],
  keywords: 'Ki Mi Gi Ti Pi Ei n u m k M G T P E e - + . 0 999'.split(' '),
  read: (input) => {
    const read = attempt(
      () => Quantity.parse(input.toString()),
      (error) => error instanceof QuantityError,
    )
    if ('refused' in read) return
    const { value } = read
    const bytes = value.bytes()
    if (bytes > MAX_INT64 || bytes < -MAX_INT64) throw new Error(`${bytes} is no int64`)
    // A quantity that is written and parsed again must have the same value and the same text.
    const text = Quantity.parse(value.toString()).toString()
    const again = Quantity.parse(text)
    if (!again.equals(value)) throw new Error(`${value} is not ${again}`)
    if (again.toString() !== text) throw new Error(`${text} is written as ${again}`)
  },
}

export const durations: BytesReader = {
  name: 'durations',
  seeds: ['1h15m30.5s', '-5ms', '0', '100us', '3\u00b5s', '2562047h47m16.854775807s'],
  keywords: ['ns', 'us', '\u00b5s', '\u03bcs', 'ms', 's', 'm', 'h', '.', '-', '+', '9223372036854775807', '0'],
  read: (input) => {
    const read = attempt(
      () => parseGoDuration(input.toString()),
      (error) => error instanceof ValueError,
    )
    if ('refused' in read) return
    if (!Number.isFinite(read.value)) throw new Error(`${read.value} is no duration`)
    const text = goDuration(read.value)
    // Nanoseconds are not exact in durations of more than a hundred days.
    if (Math.abs(read.value) < EXACT_MS && goDuration(parseGoDuration(text)) !== text) throw new Error(`not ${text}`)
  },
}

const EXACT_MS = 1e9

const FLAGS = [
  { name: 'text', type: 'string', default: '', help: '' },
  { name: 'whether', type: 'bool', default: false, help: '' },
  { name: 'number', type: 'int', default: 0, help: '' },
  { name: 'fraction', type: 'float', default: 0, help: '' },
  { name: 'wait', type: 'duration', default: 0, help: '' },
] as const

export const flags: BytesReader = {
  name: 'go-flags',
  seeds: ['--text\0a\0--whether=f\0-number\x000x1F\0--fraction=1e3\0--wait=1m', '--help', '--\0a', '-number=0b_1_0'],
  keywords: [
    ...'-- - = text whether number fraction wait help true T 0x 0b 0o _ 1e308 inf nan 0x1p-2 1_000 ms h'.split(' '),
    ...['\0', '9223372036854775807', '-9223372036854775808'],
  ],
  read: (input) => {
    parseFlags(FLAGS, input.toString().split('\0'))
  },
}

export const kubeconfigs: BytesReader = {
  name: 'kubeconfigs',
  seeds: [
    `current-context: here
contexts: [{name: here, context: {cluster: c, user: u, namespace: n}}]
x: &a !mine {insecure-skip-tls-verify: yes}
clusters:
- name: c
  cluster: {<<: *a, server: 'https://10.0.0.1'}
users: [{name: u, user: {token: "secret\\n", exec: {env: [{name: A, value: 1}]}}}]
`,
    '{"current-context":"a","contexts":[{"name":"a","context":{"cluster":"b"}}],"clusters":[{"name":"b"}]}',
    'a: |\n  text\nb: >-\n  more\n? c\n: !!binary aGk=\n...\n---\nx',
  ],
  keywords: [
    ...[': ', '- ', '\n', '\n  ', '&a ', '*a', '<<: ', '!!', '!x ', '---\n', '...\n', '|', '>', '? ', '#', "'", '"'],
    ...['%YAML 1.1\n', '{', '}', '[', ']', ', ', '\t', '~', '0x1F'],
    ...['contexts', 'clusters', 'users', 'name', 'current-context', '__proto__'],
  ],
  read: (input) => {
    const read = attempt(() => parseKubeconfig(input.toString()), isOneLine)
    if ('value' in read) documentOf([read.value])
  },
}

/** Reports whether an error has a message of one line that begins with `yaml: `. */
function isOneLine(error: Error): boolean {
  return error.constructor === Error && error.message.startsWith('yaml: ') && !error.message.includes('\n')
}
