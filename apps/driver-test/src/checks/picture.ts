import type { ProxiedCall } from '@csi-sidecars/disturb'
import { text } from './volume-tracker.ts'

/** A state of a volume, from the success of one call to the success of another call. */
interface Bar {
  readonly lane: string
  readonly from: number
  readonly to: number | undefined
}

/** The states of a volume: the methods that begin and end each state, and the request field with its place. */
const STATES = [
  { what: 'created', begin: 'CreateVolume', end: 'DeleteVolume', where: '' },
  { what: 'attached', begin: 'ControllerPublishVolume', end: 'ControllerUnpublishVolume', where: 'nodeId' },
  { what: 'staged', begin: 'NodeStageVolume', end: 'NodeUnstageVolume', where: 'stagingTargetPath' },
  { what: 'published', begin: 'NodePublishVolume', end: 'NodeUnpublishVolume', where: 'targetPath' },
] as const

const LABELS = 190
const WIDTH = 640
const ROW = 22
const HEAD = 30

/** Returns an SVG that shows where a volume was at which time, by its successful calls. Empty without calls. */
export function pictureOf(calls: readonly ProxiedCall[], shortened: (path: string) => string): string {
  const [first] = calls
  if (first === undefined) return ''
  const last = Math.max(...calls.map(({ start, end = start }) => end), first.start + 1)
  const bars = barsOf(calls, shortened)
  const lanes = ['calls', ...new Set(bars.map(({ lane }) => lane))]
  const x = (at: number): number => LABELS + ((at - first.start) / (last - first.start)) * WIDTH
  const y = (lane: string): number => HEAD + lanes.indexOf(lane) * ROW
  const height = HEAD + lanes.length * ROW + 8
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${LABELS + WIDTH + 20}" height="${height}" font-family="sans-serif" font-size="12">`,
    '<rect width="100%" height="100%" fill="#fff"/>',
    `<text x="8" y="18" fill="#444">0 to ${((last - first.start) / 1000).toFixed(1)} s; red: refused or unanswered, orange: disturbed</text>`,
    ...lanes.map((lane) => `<text x="8" y="${y(lane) + 15}">${escaped(lane)}</text>`),
    ...bars.map(({ lane, from, to = last }) => rect(x(from), y(lane), Math.max(2, x(to) - x(from)))),
    ...calls.map((call) => tick(call, x(call.start), y('calls'))),
    '</svg>',
    '',
  ].join('\n')
}

function barsOf(calls: readonly ProxiedCall[], shortened: (path: string) => string): readonly Bar[] {
  const bars: Bar[] = []
  const open = new Map<string, number>()
  const close = (lane: string, to: number | undefined): void => {
    const from = open.get(lane)
    if (from !== undefined) bars.push({ lane, from, to })
    open.delete(lane)
  }
  for (const { method, request, code, start, end = start } of calls) {
    if (code !== 0) continue
    for (const { what, begin, end: ending, where } of STATES) {
      const lane = `${what} ${shortened(text(request[where])).slice(-24)}`.trim()
      if (method === begin && !open.has(lane)) open.set(lane, end)
      if (method === ending) close(lane, end)
    }
  }
  for (const lane of [...open.keys()]) close(lane, undefined)
  return bars.toSorted((a, b) => a.from - b.from)
}

function rect(x: number, y: number, width: number): string {
  return `<rect x="${x.toFixed(1)}" y="${y + 4}" width="${width.toFixed(1)}" height="14" rx="3" fill="#4a7ab5"/>`
}

function tick({ method, code, fault, message }: ProxiedCall, x: number, y: number): string {
  const color = code === 0 ? (fault === undefined ? '#2a2' : '#e80') : '#c22'
  const title = `${method} ${code ?? 'no answer'}${fault === undefined ? '' : `, ${fault}`} ${message}`
  return `<rect x="${x.toFixed(1)}" y="${y + 3}" width="3" height="16" fill="${color}"><title>${escaped(title)}</title></rect>`
}

function escaped(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
