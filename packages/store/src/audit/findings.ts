/** Counts every finding and keeps the first of each verdict. */
import { AUDIT_VERDICTS, type AuditFinding, type AuditVerdict } from './report.ts';

/** Findings of one audit. */
export class Findings {
  readonly counts: Record<AuditVerdict, number>;
  readonly #kept: Map<AuditVerdict, AuditFinding[]> = new Map();
  readonly #max: number;

  /** @param max findings kept per verdict. */
  constructor(max: number) {
    this.#max = max;
    this.counts = Object.fromEntries(AUDIT_VERDICTS.map((verdict) => [verdict, 0])) as Record<AuditVerdict, number>;
  }

  add(finding: AuditFinding): void {
    this.counts[finding.verdict] += 1;
    const kept = this.#kept.get(finding.verdict) ?? [];
    this.#kept.set(finding.verdict, kept);
    if (kept.length < this.#max) kept.push(finding);
  }

  /** Takes all findings of another collection over, under one verdict and reason. */
  takeAs(verdict: AuditVerdict, reason: string, other: Findings): void {
    const sum = Object.values(other.counts).reduce((total, count) => total + count, 0);
    const listed = other.sorted();
    for (const finding of listed) this.add({ ...finding, verdict, reason });
    this.counts[verdict] += sum - listed.length;
  }

  /** By verdict, and by key within one. */
  sorted(): AuditFinding[] {
    return AUDIT_VERDICTS.flatMap((verdict) =>
      (this.#kept.get(verdict) ?? []).sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)),
    );
  }
}
