-- The summary of an audit log. Lines that say the same are one row of a table; views sum up the
-- rows. Each table ends with the number of lines, the first and the last of their times (for gaps:
-- the shortest and the longest), in seconds, and the URL of the first line.

CREATE TABLE verdicts (crawl, origin, status, is_allowed, is_enforced, reason, override,
  rule, line, robots_url, use, source, is_of_page,  -- of denials only
  count, first, last, example);
CREATE TABLE files (crawl, origin, status, access, failure, delay_asked,
  count, first, last, example);
CREATE TABLE others (crawl, origin, standing, count, first, last, example);
CREATE TABLE begins (crawl, spider, version, mode, settings, logs_all,
  count, first, last, example);
CREATE TABLE ends (crawl, ended, allowed, denied, lost, count, first, last, example);
CREATE TABLE changed (time, origin, before, after, count, first, last, example);
CREATE TABLE gaps (origin, delay, is_short, count, first, last, example);

CREATE VIEW lines AS
  SELECT crawl, origin, status, NULL AS standing, count * is_allowed AS allowed,
    count * (NOT is_allowed) AS denied, count, first, last, 1 AS is_of_site FROM verdicts
  UNION ALL SELECT crawl, origin, status, NULL, 0, 0, count, first, last, 1 FROM files
  UNION ALL SELECT crawl, origin, NULL, standing, 0, 0, count, first, last, standing IS NOT NULL
    FROM others;

-- The numbers at the top of the page, and the totals of its tables.
CREATE VIEW totals AS SELECT *,
    full_crawls = crawls AND allowed_not_logged = 0 AS logs_all,
    allowed + allowed_not_logged AS all_allowed,  -- as far as they were counted
    full_crawls = crawls OR counted_crawls = crawls AS counts_all  -- whether that is all of them
  FROM
    (SELECT count(*) AS origins, coalesce(sum(denied > 0), 0) AS denying FROM (SELECT
      sum(denied) AS denied FROM lines WHERE is_of_site GROUP BY origin)),
    (SELECT coalesce(sum(count), 0) AS lines, min(first) AS first, max(last) AS last,
      coalesce(sum(allowed), 0) AS allowed, coalesce(sum(denied), 0) AS denied FROM lines),
    (SELECT coalesce(sum(count), 0) AS not_enforced FROM verdicts
      WHERE NOT is_allowed AND NOT is_enforced),
    (SELECT coalesce(sum(count), 0) AS skipped FROM verdicts
      WHERE is_of_page),  -- because of what the pages say: their requests were allowed and sent
    (SELECT coalesce(sum(count), 0) AS denied_by_rule FROM ruled),
    (SELECT coalesce(sum(count), 0) AS crawls, coalesce(sum(count * logs_all), 0) AS full_crawls,
      coalesce(sum(count * (mode <> 'obey')), 0) AS observing_crawls FROM begins),
    (SELECT coalesce(sum(count * (allowed IS NOT NULL)), 0) AS ended,
      -- In parts: an integer sum that is too large is an error in SQLite, a product is not.
      CAST(coalesce(sum(count * (lost / 1000000)) * 1000000 + sum(count * (lost % 1000000)), 0)
        AS INTEGER) AS lost FROM ends),
    (SELECT CAST(total(max(allowed - coalesce(logged, 0), 0)) AS INTEGER) AS allowed_not_logged,
        count(allowed) AS counted_crawls
      FROM last_ends JOIN (SELECT DISTINCT crawl FROM begins) USING (crawl)
      LEFT JOIN (SELECT crawl, sum(count * is_allowed) AS logged FROM verdicts GROUP BY crawl)
        USING (crawl)),
    (SELECT coalesce(sum(count), 0) AS files, coalesce(sum(count * (failure IS NOT NULL)), 0) AS
      failures, count(DISTINCT CASE WHEN failure IS NOT NULL THEN origin END) AS unread FROM files),
    (SELECT coalesce(sum(count), 0) AS changes FROM changed),
    (SELECT coalesce(sum(count), 0) AS gaps, coalesce(sum(count * is_short), 0) AS gaps_too_short
      FROM gaps);

-- Sites with the most denials first, then those with the most allowed requests. What a robots.txt
-- answered last is shown, if it was asked at all. Of several delays, the one that was kept worst is
-- shown, with its smallest gap.
CREATE VIEW sites AS
  SELECT origin, coalesce(status, '') AS status, requests_denied, requests_allowed, delay_asked,
    delay_kept, round(smallest_gap, 6) AS smallest_gap, coalesce(gaps, 0) AS gaps,
    coalesce(gaps_too_short, 0) AS gaps_too_short, coalesce(standing, '') AS standing
  FROM (SELECT origin, sum(denied) AS requests_denied, sum(allowed) AS requests_allowed,
      min(first) AS first FROM lines WHERE is_of_site GROUP BY origin)
    LEFT JOIN (SELECT origin, status, max((status NOT IN ('', 'own text')) * 1e12 + last)
      FROM lines WHERE status IS NOT NULL GROUP BY origin) USING (origin)
    LEFT JOIN (SELECT origin, standing, max(last) FROM lines WHERE standing IS NOT NULL
      GROUP BY origin) USING (origin)
    LEFT JOIN (SELECT origin, delay_asked, max(last) FROM files GROUP BY origin) USING (origin)
    LEFT JOIN (SELECT origin, delay AS delay_kept, shortest AS smallest_gap, sum(gaps) AS gaps,
        sum(gaps_too_short) AS gaps_too_short, max(gaps_too_short * 1e9 + gaps)
      FROM measured GROUP BY origin) USING (origin)
  ORDER BY requests_denied DESC, requests_allowed DESC, first;

CREATE VIEW measured AS
  SELECT origin, delay, sum(count) AS gaps, sum(count * is_short) AS gaps_too_short,
    min(first) AS shortest FROM gaps GROUP BY origin, delay;

CREATE VIEW reasons AS
  SELECT reason, sum(count * (NOT is_allowed)) AS denied, sum(count * is_allowed) AS allowed
  FROM verdicts GROUP BY reason ORDER BY denied DESC, allowed DESC, min(rowid);

-- Headers and tags of a page are not rules of a robots.txt.
CREATE VIEW ruled AS
  SELECT *, rowid AS place FROM verdicts
  WHERE NOT is_allowed AND rule IS NOT NULL AND (reason <> 'ai_preference' OR NOT is_of_page);
CREATE VIEW rules AS
  SELECT coalesce(robots_url, '') AS robots_url, line, rule, sum(count) AS denied, example,
    min(place) AS place
  FROM ruled GROUP BY ruled.robots_url, line, rule ORDER BY denied DESC, place;

-- Why requests and pages were skipped: the uses objected to, and where the site says so.
CREATE VIEW objections AS
  SELECT coalesce(use, '') AS use, coalesce(source, '') AS source, sum(count) AS denied, example,
    min(rowid) AS place
  FROM verdicts WHERE NOT is_allowed AND reason = 'ai_preference'
  GROUP BY use, source ORDER BY denied DESC, place;

CREATE VIEW spiders AS
  SELECT spider FROM begins WHERE spider <> '' GROUP BY spider ORDER BY spider;

CREATE VIEW overrides AS
  SELECT override, sum(count * (NOT is_allowed)) AS denied, sum(count * is_allowed) AS allowed,
    max(example) AS example
  FROM verdicts WHERE override IS NOT NULL GROUP BY override ORDER BY sum(count) DESC;

-- How attempts to read a robots.txt ended, and what that meant.
CREATE VIEW answers AS
  SELECT coalesce(failure, status) AS answer, access, count(DISTINCT origin) AS origins,
    sum(count) AS times
  FROM files GROUP BY answer, access ORDER BY times DESC, min(rowid);

CREATE VIEW changes AS SELECT * FROM changed ORDER BY rowid DESC;

-- For a crawl whose start is not in the log, logs_all is null; for one without an end, ended and
-- counted are.
CREATE VIEW crawls AS
  SELECT crawl, spider, version, mode, settings, logs_all, seen.first, seen.last, ended,
    seen.denied, seen.allowed, ends.allowed AS counted,
    max(seen.allowed, coalesce(ends.allowed, 0)) AS all_allowed, coalesce(lost, 0) AS lost
  FROM (SELECT crawl, sum(count) AS lines, min(first) AS first, max(last) AS last,
      sum(denied) AS denied, sum(allowed) AS allowed FROM lines GROUP BY crawl) AS seen
    LEFT JOIN (SELECT *, max(rowid) FROM begins GROUP BY crawl) USING (crawl)
    LEFT JOIN last_ends AS ends USING (crawl)
  ORDER BY seen.lines DESC;

-- What a crawl counted tells nothing of a part of its log: in it, not all of the denials are there.
CREATE VIEW last_ends AS
  SELECT crawl, ended, lost, CASE WHEN ends.denied <= coalesce(seen.denied, 0) THEN allowed END
    AS allowed, max(ends.rowid)
  FROM ends LEFT JOIN (SELECT crawl, sum(count * (NOT is_allowed)) AS denied FROM verdicts
    GROUP BY crawl) AS seen USING (crawl) GROUP BY crawl;
