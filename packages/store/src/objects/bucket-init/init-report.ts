/** What `orangebox bucket init` did, item by item. */

/** A part of a bucket's set-up. */
export type BucketInitItemName = 'bucket' | 'public_access' | 'encryption' | 'lifecycle' | 'tiers' | 'policy';

/** What became of a part. */
export type BucketInitOutcome =
  /** It was not there and is now. */
  | 'made'
  /** It was there in another form. */
  | 'changed'
  /** It was as wanted already. */
  | 'unchanged'
  /** A dry run: it would be made or changed. */
  | 'planned'
  /** Not asked for, or somebody else's: left alone. */
  | 'skipped'
  /** The store does not have it. */
  | 'not_offered'
  /** The credentials do not allow it. */
  | 'denied';

/** One part of a bucket's set-up and what became of it. */
export interface BucketInitItem {
  item: BucketInitItemName;
  outcome: BucketInitOutcome;
  /** One sentence: what there is now, or why not. */
  detail: string;
}

/** A policy document as S3 stores take it. */
export interface PolicyDocument {
  Version: '2012-10-17';
  Statement: PolicyStatement[];
}

/** A statement of a policy. */
export interface PolicyStatement {
  Sid: string;
  Effect: 'Allow';
  Principal?: { AWS: string[] };
  Action: string[];
  Resource: string[];
  Condition?: { StringLike: { 's3:prefix': string[] } };
}

/** The least that each role needs. They are attached to users or roles; with principals given, to the bucket. */
export interface BucketPolicies {
  /** Archiver, collector: puts objects, and reads them back. Cannot delete. */
  writer: PolicyDocument;
  /** CLI, console: lists and reads. */
  reader: PolicyDocument;
  /** `archive --reindex` and purging: deletes too. */
  maintainer: PolicyDocument;
}

/** What was found and done. */
export interface BucketInitReport {
  /** `s3://bucket/prefix`, or a path. */
  location: string;
  items: BucketInitItem[];
  /** Absent for a directory. */
  policies?: BucketPolicies;
  /** Whether anything was made or changed: false for a second run. */
  hasChanged: boolean;
}
